"""A local server with TensorFlow Serving's contract, and a client of both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "bundle.bundle": ["write_bundle"],
        "bundle.release": ["release"],
        "client.client": ["Client"],
        "client.retries": ["RetryPolicy"],
        "protocol.statuses": ["ServingError"],
        "server.batching_parameters": [
            "BatchingParameters",
            "read_batching_parameters",
        ],
        "server.models.config": ["ModelConfig", "read_model_configs"],
        "server.server": ["ModelServer", "ServerOptions"],
    },
)
