"""ALBERT models: keras-hub backbones and tasks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "backbone": ["AlbertBackbone"],
        "loading": ["load_model"],
        "pretrainer": ["AlbertPretrainer"],
        "sizes": ["SIZES", "Size"],
        "text_classifier": ["AlbertTextClassifier"],
        "text_classifier_preprocessor": ["AlbertTextClassifierPreprocessor"],
    },
)
