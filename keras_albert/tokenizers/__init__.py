"""Tokenizers that own their whole normalisation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "loading": ["load_tokenizer"],
        "packing": ["pack_segments"],
        "sentence_piece": ["AlbertTokenizer"],
        "vocabulary_training": ["train_tokenizer"],
        "word_piece": ["AlbertWordPieceTokenizer"],
    },
)
