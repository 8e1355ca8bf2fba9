"""Which versions of which models are in memory."""
