"""Models of a few thousand weights and batches that fit them."""

import numpy as np

from keras_albert.models import AlbertBackbone
from keras_albert.models import AlbertPretrainer
from tests.checks import randomize

VOCABULARY = 13
LENGTH = 7
BATCH = 4
PREDICTIONS = 3


def tiny_backbone(seed=1, **overrides):
    backbone = AlbertBackbone(
        **{
            "vocabulary_size": VOCABULARY,
            "num_layers": 3,
            "num_heads": 2,
            "embedding_dim": 5,
            "hidden_dim": 8,
            "intermediate_dim": 11,
            "max_sequence_length": 9,
            **overrides,
        }
    )
    randomize(backbone, seed)
    return backbone


def tiny_pretrainer(seed=1, **overrides):
    pretrainer = AlbertPretrainer(tiny_backbone(seed, **overrides))
    randomize(pretrainer, seed)
    return pretrainer


def backbone_inputs(seed=2):
    generator = np.random.default_rng(seed)
    shape = (BATCH, LENGTH)
    padding_mask = np.ones((BATCH, LENGTH), "int32")
    padding_mask[1, 4:] = 0
    padding_mask[2, 1:] = 0
    return {
        "token_ids": generator.integers(
            0, VOCABULARY, (BATCH, LENGTH), "int32"
        ),
        "segment_ids": generator.integers(0, 2, shape, "int32"),
        "padding_mask": padding_mask,
    }


def pretraining_batch(seed=2):
    generator = np.random.default_rng(seed)
    inputs = {
        **backbone_inputs(seed),
        "mask_positions": generator.integers(
            0, LENGTH, (BATCH, PREDICTIONS), "int32"
        ),
    }
    targets = {
        "masked_lm": generator.integers(
            0, VOCABULARY, (BATCH, PREDICTIONS), "int32"
        ),
        "sentence_order": generator.integers(0, 2, (BATCH,), "int32"),
    }
    mask_weights = np.ones((BATCH, PREDICTIONS), "float32")
    mask_weights[0, 1:] = 0
    mask_weights[2] = 0
    weights = {
        "masked_lm": mask_weights,
        "sentence_order": np.array([1, 1, 0, 1], "float32"),
    }
    return inputs, targets, weights
