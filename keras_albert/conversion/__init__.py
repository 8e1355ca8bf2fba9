"""Weights of other ALBERT implementations, by tables of names."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "google": ["load_google_checkpoint"],
    },
)
