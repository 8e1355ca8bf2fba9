"""Models of a few hundred weights, with a vocabulary of either kind."""

import functools
import io

import numpy as np
import sentencepiece

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.models.text_classifier import AlbertTextClassifier
from keras_albert.models.text_classifier_preprocessor import (
    AlbertTextClassifierPreprocessor,
)
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer

TEXTS = ["the film was good", "very dull indeed", "Good, or bad?"]
PIECES = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("the", "film", "was", "good", "bad", "du", "##ll", "very", "indeed"),
    *"中文没有空格，。?!",
]


@functools.cache
def tiny_proto():
    """A SentencePiece model of some 50 pieces in ALBERT's layout."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(
            f"the film number {i} was good or bad, very {word} indeed"
            for i in range(100)
            for word in ("dull", "fine", "great", "sad")
        ),
        model_writer=writer,
        vocab_size=60,
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        minloglevel=2,
    )
    return writer.getvalue()


def tiny_tokenizer(kind):
    if kind == "sentence_piece":
        return AlbertTokenizer(tiny_proto())
    return AlbertWordPieceTokenizer(PIECES)


def tiny_classifier(kind, sequence_length=19, dtype=None, **options):
    """A classifier with random weights, large enough to tell texts apart."""
    tokenizer = tiny_tokenizer(kind)
    backbone = AlbertBackbone(
        tokenizer.vocabulary_size(),
        num_layers=2,
        num_heads=2,
        embedding_dim=5,
        hidden_dim=8,
        intermediate_dim=11,
        max_sequence_length=sequence_length + 4,
        unroll=options.pop("unroll", True),
        dtype=dtype,
    )
    preprocessor = AlbertTextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    model = AlbertTextClassifier(backbone, preprocessor=preprocessor, **options)
    return with_random_weights(model)


def tiny_pretrainer(kind):
    """A pretrainer with random weights."""
    classifier = tiny_classifier(kind, num_classes=2)
    return with_random_weights(
        AlbertPretrainer(
            classifier.backbone, preprocessor=classifier.preprocessor
        )
    )


def with_random_weights(model, scale=0.9):
    """The model with weights that make its answers differ by text."""
    rng = np.random.default_rng(6)
    for weight in model.weights:
        centre = 1.0 if "gamma" in weight.path else 0.0
        weight.assign(rng.normal(centre, scale, weight.shape))
    return model
