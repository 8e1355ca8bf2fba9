"""A local server with TensorFlow Serving's contract, and a client of both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "batching_parameters": [
            "BatchingParameters",
            "read_batching_parameters",
        ],
        "bundle": ["write_bundle"],
        "bundle_release": ["release"],
        "client": ["Client"],
        "retries": ["RetryPolicy"],
        "model_config": ["ModelConfig", "read_model_configs"],
        "server": ["ModelServer", "ServerOptions"],
        "statuses": ["ServingError"],
    },
)
