import keras
import numpy as np
import pytest

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.training.seeding import seed_dropout
from keras_albert.training.seeding import seed_weights
from keras_albert.training.seeding import truncated_normal

pytestmark = pytest.mark.every_backend


def make_model(**options):
    backbone = AlbertBackbone(13, 2, 2, 3, 8, 11, num_groups=2, **options)
    return AlbertPretrainer(backbone)


def test_every_random_weight_follows_the_seed():
    one, two, other = (make_model() for _ in range(3))
    seed_weights(one.trainable_variables, 7)
    seed_weights(two.trainable_variables, 7)
    seed_weights(other.trainable_variables, 8)

    for name, a, b in zip(
        [v.path for v in one.variables],
        one.get_weights(),
        two.get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b, err_msg=name)
    assert not np.allclose(one.get_weights()[0], other.get_weights()[0])


def test_constants_stay_and_no_two_weights_are_equal():
    model = make_model()
    before = {v.path: np.array(v) for v in model.trainable_variables}

    seed_weights(model.trainable_variables, 7, stddev=0.5)

    drawn = []
    for variable in model.trainable_variables:
        values = keras.ops.convert_to_numpy(variable)
        if variable.path.endswith(("bias", "gamma", "beta")):
            np.testing.assert_array_equal(values, before[variable.path])
        else:
            drawn.append(values.ravel()[:3].tolist())
            assert 0 < np.abs(values).max() <= 1.0
    assert len(drawn) == len({tuple(values) for values in drawn})


def test_the_numbers_are_the_same_on_every_backend():
    variable = keras.Variable(np.zeros((2, 2), "float32"), name="kernel")

    seed_weights([variable], seed=1, stddev=1.0)

    expected = np.random.default_rng([1, 0]).standard_normal((2, 2))
    assert np.abs(expected).max() < 2
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(variable), expected, atol=1e-7
    )


def test_dropout_follows_the_seed():
    ids = np.ones((2, 5), "int32")
    inputs = {
        "token_ids": ids,
        "segment_ids": ids * 0,
        "padding_mask": ids,
        "mask_positions": ids[:, :1],
    }
    model = make_model(hidden_dropout=0.5, attention_dropout=0.5)

    def outputs(seed):
        seed_dropout(model, seed)
        logits = model(inputs, training=True)["masked_lm"]
        return keras.ops.convert_to_numpy(logits)

    one = outputs(1)
    np.testing.assert_array_equal(one, outputs(1))
    assert not np.allclose(one, outputs(2))


def test_a_truncated_normal_ends_at_two_and_is_else_normal():
    values = truncated_normal(np.random.default_rng(0), (20_000,))

    assert np.abs(values).max() <= 2
    # The standard deviation of a normal cut at 2 is 0.8796.
    assert values.std() == pytest.approx(0.8796, abs=0.01)
    assert values.mean() == pytest.approx(0, abs=0.02)
