"""One update of a tiny pretrainer: what it takes off each weight."""

import keras
import numpy as np

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.training.micro_batches import PartialCrossEntropy
from keras_albert.training.seeding import dropout_generators
from keras_albert.training.seeding import seed_dropout
from keras_albert.training.seeding import seed_weights

HEADS = ("masked_lm", "sentence_order")


def make_batch(batch_size=8, length=6, predictions=3):
    """Very unequal halves: one target in the first, many in the second."""
    draw = np.random.default_rng(0)
    weights = np.zeros((batch_size, predictions), "float32")
    weights[0, 0] = 1.0
    weights[batch_size // 2 :] = 1.0
    shape = batch_size, length
    inputs = {
        "token_ids": draw.integers(1, 11, shape).astype("int32"),
        "segment_ids": draw.integers(0, 2, shape).astype("int32"),
        "padding_mask": np.ones(shape, "int32"),
        "mask_positions": draw.integers(
            0, length, (batch_size, predictions)
        ).astype("int32"),
    }
    targets = {
        "masked_lm": draw.integers(0, 11, weights.shape).astype("int32"),
        "sentence_order": draw.integers(0, 2, batch_size).astype("int32"),
    }
    orders = np.ones(batch_size, "float32")
    orders[-3:] = 0.0
    return inputs, targets, {"masked_lm": weights, "sentence_order": orders}


def step_of(dataset, parts=0, dropout=0.0, advance=0, **arguments):
    """Returns what one update of plain gradient descent takes off.

    Args:
        dataset: `tf.data.Dataset` of the batches of the update.
        parts: int. 0 for a whole batch, else how many batches of
            `split_batches` it has.
        dropout: float.
        advance: int. How many draws each dropout has made before.
        **arguments: of `AlbertBackbone`, beside its sizes.

    Returns:
        List of arrays: the gradients, since the rate is 1.
    """
    backbone = AlbertBackbone(
        *(11, arguments.pop("num_layers", 1), 2, 3, 8, 13),
        hidden_dropout=dropout,
        attention_dropout=dropout,
        **arguments,
    )
    model = AlbertPretrainer(backbone)
    seed_weights(model.trainable_variables, 1, stddev=0.3)
    seed_dropout(model, 2)
    for generator in dropout_generators(model):
        key, count = keras.ops.convert_to_numpy(generator.state.value)
        generator.state.assign([key, count + advance])
    loss = {head: PartialCrossEntropy() for head in HEADS}
    model.compile(
        keras.optimizers.SGD(
            1.0, gradient_accumulation_steps=parts if parts > 1 else None
        ),
        loss="auto" if parts == 0 else loss,
        weighted_metrics=[],
        jit_compile=keras.backend.backend() == "jax",
        # Tracing takes longer than one step.
        run_eagerly=keras.backend.backend() == "tensorflow",
    )
    before = model.get_weights()
    keras.Model.fit(model, dataset, shuffle=False, verbose=0)
    return [a - b for a, b in zip(before, model.get_weights(), strict=True)]
