"""The REST API and the HTTP around it."""
