"""keras_albert: pretrain, fine-tune, compress and serve ALBERT in Keras 3.

Every public name loads on first use, so that `import keras_albert` is instant
and neither TensorFlow nor keras-hub is imported before something needs it.
`_PUBLIC` is the table of those names; `tests/test_public_api.py` checks it.
"""

import lazy_loader

_PUBLIC = {
    "layers": [
        "FactorizedEmbedding",
        "FeedForward",
        "MaskedLMHead",
        "SelfAttention",
        "SentenceOrderHead",
        "SharedEncoder",
        "TransformerLayer",
        "layer_schedule",
    ],
    "models": [
        "AlbertBackbone",
        "AlbertPretrainer",
        "AlbertTextClassifier",
        "AlbertTextClassifierPreprocessor",
        "load_model",
    ],
    "tokenizers": [
        "AlbertTokenizer",
        "AlbertWordPieceTokenizer",
        "load_tokenizer",
        "train_tokenizer",
    ],
}

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "cli",
        "conversion",
        "data",
        "export",
        "layers",
        "models",
        "serving",
        "tokenizers",
        "training",
    ],
    submod_attrs=_PUBLIC,
)

__version__ = "0.1.0"
