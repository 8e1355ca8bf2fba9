"""The pretrainer: losses by hand, what a step changes, what is saved."""

import keras
import numpy as np
import pytest

from keras_albert.models import AlbertBackbone
from keras_albert.models import AlbertPretrainer
from keras_albert.models import load_model
from tests.checks import max_difference
from tests.checks import to_numpy
from tests.models.tiny_models import BATCH
from tests.models.tiny_models import PREDICTIONS
from tests.models.tiny_models import VOCABULARY
from tests.models.tiny_models import pretraining_batch
from tests.models.tiny_models import tiny_pretrainer

pytestmark = pytest.mark.every_backend


def dataset(batch):
    import tensorflow as tf

    return tf.data.Dataset.from_tensors(batch).repeat()


def evaluate(pretrainer, batch):
    return pretrainer.evaluate(
        dataset(batch), steps=1, verbose=0, return_dict=True
    )


def cross_entropy(logits, labels, weights):
    logits = np.float64(logits)
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses = -np.take_along_axis(log_probabilities, labels[..., None], -1)
    return (losses[..., 0] * weights).sum() / weights.sum()


def test_output_shapes_and_dtypes():
    outputs = tiny_pretrainer(dtype="mixed_bfloat16")(pretraining_batch()[0])

    assert tuple(outputs["masked_lm"].shape) == (BATCH, PREDICTIONS, VOCABULARY)
    assert tuple(outputs["sentence_order"].shape) == (BATCH, 2)
    for value in outputs.values():
        assert keras.backend.standardize_dtype(value.dtype) == "float32"


def test_losses_and_accuracies_are_weighted_means():
    pretrainer, batch = tiny_pretrainer(), pretraining_batch()
    inputs, targets, weights = batch

    logs = evaluate(pretrainer, batch)

    outputs = to_numpy(pretrainer(inputs))
    expected = {
        key: cross_entropy(outputs[key], targets[key], weights[key])
        for key in outputs
    }
    assert logs["masked_lm_loss"] == pytest.approx(
        expected["masked_lm"], rel=1e-5
    )
    assert logs["sentence_order_loss"] == pytest.approx(
        expected["sentence_order"], rel=1e-5
    )
    assert logs["loss"] == pytest.approx(sum(expected.values()), rel=1e-5)
    for key in outputs:
        hits = outputs[key].argmax(-1) == targets[key]
        share = (hits * weights[key]).sum() / weights[key].sum()
        assert logs[f"{key}_accuracy"] == pytest.approx(share, rel=1e-5)


def test_single_batches_are_taken_as_fit_and_evaluate_take_them():
    pretrainer, other = tiny_pretrainer(), tiny_pretrainer()
    batch = pretraining_batch()
    for each in (pretrainer, other):
        each.compile(keras.optimizers.SGD(0.1))
    expected = evaluate(pretrainer, batch)

    logs = pretrainer.test_on_batch(*batch, return_dict=True)
    assert logs == pytest.approx(expected, rel=1e-5)
    loss, *_ = pretrainer.train_on_batch(*batch)
    assert loss == pytest.approx(expected["loss"], rel=1e-5)
    other.fit(dataset(batch), steps_per_epoch=1, verbose=0, shuffle=False)
    for ours, theirs in zip(
        pretrainer.get_weights(), other.get_weights(), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    # Without weights, all targets count.
    unweighted = pretrainer.test_on_batch(*batch[:2], return_dict=True)
    weights = {key: np.ones_like(value) for key, value in batch[2].items()}
    assert unweighted == pytest.approx(
        evaluate(pretrainer, (*batch[:2], weights)), rel=1e-5
    )


def test_a_batch_without_targets_has_no_loss_and_no_gradient():
    pretrainer = tiny_pretrainer()
    inputs, targets, weights = pretraining_batch()
    weights = {key: 0 * value for key, value in weights.items()}
    pretrainer.compile(keras.optimizers.SGD(1.0))
    before = to_numpy([v.value for v in pretrainer.weights])

    pretrainer.fit(
        dataset((inputs, targets, weights)),
        steps_per_epoch=1,
        verbose=0,
        shuffle=False,
    )

    assert evaluate(pretrainer, (inputs, targets, weights))["loss"] == 0
    after = [v.value for v in pretrainer.weights]
    assert max_difference(before, after) == 0


@pytest.mark.parametrize("sharing", ["all", "attention", "ffn", "none"])
def test_one_step_changes_every_weight(sharing):
    pretrainer = tiny_pretrainer(sharing=sharing)
    inputs, targets, weights = pretraining_batch()
    # Every token and position takes part, or its row would stay.
    inputs["token_ids"] = np.arange(28, dtype="int32").reshape(4, 7) % 13
    inputs["padding_mask"][:] = 1
    inputs["mask_positions"][:] = [1, 2, 3]
    before = to_numpy([v.value for v in pretrainer.trainable_variables])

    pretrainer.fit(
        dataset((inputs, targets, weights)),
        steps_per_epoch=2,
        verbose=0,
        shuffle=False,
    )

    for old, variable in zip(
        before, pretrainer.trainable_variables, strict=True
    ):
        assert np.abs(to_numpy(variable.value) - old).max() > 0, variable.path


@pytest.mark.parametrize(
    "dtype", ["float32", "mixed_bfloat16", "mixed_float16"]
)
def test_fit_brings_the_loss_down(dtype):
    pretrainer = tiny_pretrainer(dtype=dtype)
    pretrainer.compile(keras.optimizers.Adam(0.01))
    batch = pretraining_batch()
    before = evaluate(pretrainer, batch)["loss"]

    pretrainer.fit(dataset(batch), steps_per_epoch=20, verbose=0, shuffle=False)

    assert evaluate(pretrainer, batch)["loss"] < 0.6 * before


def test_weights_of_16_bits_have_gradients():
    pretrainer = tiny_pretrainer(dtype="bfloat16")
    # Not Adam, which Keras cannot compute in bfloat16.
    pretrainer.compile(keras.optimizers.SGD(0.5))
    batch = pretraining_batch()
    before = evaluate(pretrainer, batch)["loss"]

    pretrainer.fit(dataset(batch), steps_per_epoch=20, verbose=0, shuffle=False)

    assert evaluate(pretrainer, batch)["loss"] < 0.6 * before


def test_keras_file_keeps_the_optimizer(tmp_path):
    pretrainer, batch = tiny_pretrainer(), pretraining_batch()
    pretrainer.fit(dataset(batch), steps_per_epoch=3, verbose=0, shuffle=False)

    pretrainer.save(tmp_path / "p.keras")
    reloaded = load_model(tmp_path / "p.keras")

    assert int(reloaded.optimizer.iterations) == 3
    assert (
        max_difference(
            [v.value for v in pretrainer.optimizer.variables],
            [v.value for v in reloaded.optimizer.variables],
        )
        == 0
    )
    histories = [
        model.fit(
            dataset(batch),
            steps_per_epoch=1,
            epochs=3,
            verbose=0,
            shuffle=False,
        ).history["loss"]
        for model in (pretrainer, reloaded)
    ]
    np.testing.assert_allclose(*histories, rtol=1e-6)


def test_preset_after_fit_holds_no_optimizer(tmp_path):
    pretrainer, batch = tiny_pretrainer(), pretraining_batch()
    pretrainer.save_to_preset(str(tmp_path / "before"))
    pretrainer.fit(dataset(batch), steps_per_epoch=3, verbose=0, shuffle=False)
    optimizer = pretrainer.optimizer

    pretrainer.save_to_preset(str(tmp_path / "after"))

    sizes = [
        (tmp_path / name / "task.weights.h5").stat().st_size
        for name in ("before", "after")
    ]
    assert sizes[0] == sizes[1]
    assert pretrainer.optimizer is optimizer
    reloaded = AlbertPretrainer.from_preset(str(tmp_path / "after"))
    assert max_difference(pretrainer(batch[0]), reloaded(batch[0])) == 0


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_presets_in_mixed_precision_load_as_backbones_do(tmp_path, dtype):
    """keras-hub 0.32 takes the name of the policy for an unknown dtype."""
    saved = tiny_pretrainer(dtype=dtype)
    saved.save_to_preset(str(tmp_path))

    loaded = load_model(tmp_path)
    backbone = AlbertBackbone.from_preset(str(tmp_path))
    again = AlbertPretrainer.from_preset(str(tmp_path), dtype=dtype)

    policies = [
        model.encoder.dtype_policy.name
        for model in (loaded.backbone, backbone, again.backbone)
    ]
    assert policies == ["float32", "float32", dtype]
    for ours, expected in zip(
        loaded.get_weights(), saved.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(ours, expected)


def test_loading_a_preset_warns_of_nothing(tmp_path, recwarn):
    tiny_pretrainer().save_to_preset(str(tmp_path / "preset"))

    AlbertPretrainer.from_preset(str(tmp_path / "preset"))

    assert not [w for w in recwarn if "optimizer" in str(w.message)]
