"""Tokenizers that own their whole normalisation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "encoders": ["encoder_from_config", "encoder_of", "load_encoder"],
        "loading": ["load_tokenizer"],
        "packing": ["pack_segments"],
        "sentence_piece": ["AlbertTokenizer"],
        "sentence_piece_encoder": ["SentencePieceEncoder"],
        "vocabulary_training": ["train_tokenizer"],
        "word_piece": ["AlbertWordPieceTokenizer"],
        "word_piece_encoder": ["WordPieceEncoder"],
    },
)
