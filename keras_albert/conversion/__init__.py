"""Weights and vocabularies of other ALBERT implementations, in and out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "converting": ["convert"],
        "google": ["load_google_checkpoint"],
        "report": ["ConversionReport"],
    },
)
