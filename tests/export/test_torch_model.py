"""The module for PyTorch against the Keras model it is copied from."""

import keras
import numpy as np
import pytest

from keras_albert.export.opening import served_task
from keras_albert.models.backbone import AlbertBackbone
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import with_random_weights
from tests.export.token_exports import KINDS
from tests.export.token_exports import ask_keras
from tests.export.token_exports import tiny_model

torch = pytest.importorskip("torch", reason="the extra `torch` is missing")
from keras_albert.export.torch_model import Encoder  # noqa: E402
from keras_albert.export.torch_model import TorchModel  # noqa: E402

RNG = np.random.default_rng(3)
INPUTS = {
    "token_ids": RNG.integers(0, 11, (3, 7)).astype("int32"),
    "segment_ids": RNG.integers(0, 2, (3, 7)).astype("int32"),
    "padding_mask": np.array(
        [[1] * 7, [1, 1, 0, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1, 0]], "int32"
    ),
}
SIZE = {
    "vocabulary_size": 11,
    "num_layers": 4,
    "num_heads": 2,
    "embedding_dim": 5,
    "hidden_dim": 8,
    "intermediate_dim": 13,
    "max_sequence_length": 9,
}


def backbone(**options):
    return with_random_weights(AlbertBackbone(**{**SIZE, **options}), 0.5)


def run(module, **changes):
    inputs = {**INPUTS, **changes}
    return module(**{n: torch.from_numpy(x) for n, x in inputs.items()})


@pytest.mark.parametrize(
    "kind",
    [
        *KINDS[:-1],
        # It has all layers; what they are called differs by no backend.
        pytest.param(KINDS[-1], marks=pytest.mark.every_backend),
    ],
)
def test_every_kind_answers_as_keras_does(kind):
    model, preprocessor = tiny_model(kind)
    more = {}
    if kind == "pretrainer":
        more["mask_positions"] = np.array([[2, 0], [1, 1], [5, 3]], "int32")

    found = run(TorchModel(served_task(model, preprocessor), model), **more)

    want = ask_keras(model, {**INPUTS, **more})
    if kind == "classifier":
        want = {"probabilities": softmax(want)}
    if kind == "regressor":
        want = {"value": want[:, 0]}
    if kind == "backbone":
        real = INPUTS["padding_mask"] > 0
        want = {
            "sequence_output": want["sequence_output"],
            "pooled": want["pooled_output"],
            "mean_pooled": [
                row[mask].mean(0)
                for row, mask in zip(want["sequence_output"], real, strict=True)
            ],
        }
    assert set(found) == set(want)
    for name, values in want.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"sharing": "none", "activation": "gelu_erf"},
        {"sharing": "attention", "activation": "relu"},
        {"sharing": "ffn", "activation": "silu"},
        {"num_groups": 2, "num_inner_repetitions": 2, "activation": "tanh"},
        {"embedding_dim": 8},
        {"num_segments": 3, "layer_norm_epsilon": 1e-3, "num_heads": 8},
        {"unroll": False},
    ],
    ids=str,
)
def test_every_policy_gives_the_numbers_of_keras(options):
    model = backbone(**options)

    found = run(Encoder(model))

    want = ask_keras(model, INPUTS)["sequence_output"]
    np.testing.assert_allclose(found, want, atol=1e-5)


def test_as_many_calls_as_are_active():
    model = backbone()
    model.encoder.active_layers = 2

    found = run(Encoder(model))

    want = ask_keras(model, INPUTS)["sequence_output"]
    np.testing.assert_allclose(found, want, atol=1e-5)


def test_padding_changes_nothing():
    encoder = Encoder(backbone())
    real = INPUTS["padding_mask"] > 0
    other = np.where(real, INPUTS["token_ids"], 1).astype("int32")

    found, changed = run(encoder), run(encoder, token_ids=other)

    np.testing.assert_array_equal(found[real], changed[real])


def test_a_row_without_tokens_is_finite():
    model, preprocessor = tiny_model("backbone")
    module = TorchModel(served_task(model, preprocessor), model)

    found = run(module, padding_mask=INPUTS["padding_mask"] * 0)

    assert all(torch.isfinite(values).all() for values in found.values())
    assert not found["mean_pooled"].any()


def test_weights_are_held_once_and_copied():
    model, preprocessor = tiny_model("pretrainer")
    module = TorchModel(served_task(model, preprocessor), model)
    inputs = {"mask_positions": np.zeros((3, 1), "int32")}

    before = run(module, **inputs)
    for weight in model.weights:
        weight.assign(keras.ops.zeros_like(weight))
    after = run(module, **inputs)

    assert module.weight_bytes() == 4 * model.count_params()
    assert torch.equal(before["masked_lm"], after["masked_lm"])
    assert not any(p.requires_grad for p in module.parameters())
