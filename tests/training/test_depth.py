import keras
import numpy as np
import pytest

from keras_albert.models.backbone import AlbertBackbone
from keras_albert.models.pretrainer import AlbertPretrainer
from keras_albert.training import depth
from keras_albert.training.seeding import seed_weights

pytestmark = pytest.mark.every_backend

DEPTH, STEPS, BATCH = 3, 4, 2


def make(num_layers=DEPTH):
    model = AlbertPretrainer(AlbertBackbone(13, num_layers, 2, 4, 8, 12))
    seed_weights(model.trainable_variables, 1)
    compiled = keras.backend.backend() == "jax"
    model.compile(keras.optimizers.SGD(0.5), jit_compile=compiled)
    return model


@pytest.fixture(scope="module")
def batches():
    draw = np.random.default_rng(2)
    shape = (STEPS * BATCH, 6)
    inputs = {
        "token_ids": draw.integers(5, 13, shape),
        "segment_ids": np.zeros(shape, "int32"),
        "padding_mask": np.ones(shape, "int32"),
        "mask_positions": draw.integers(0, 6, (STEPS * BATCH, 2)),
    }
    targets = {
        "masked_lm": draw.integers(5, 13, (STEPS * BATCH, 2)),
        "sentence_order": draw.integers(0, 2, STEPS * BATCH),
    }
    return inputs, targets


def fit(model, batches, callbacks=(), steps=STEPS, skip=0):
    inputs, targets = (
        {k: v[skip * BATCH : (skip + steps) * BATCH] for k, v in part.items()}
        for part in batches
    )
    model.fit(
        inputs,
        targets,
        batch_size=BATCH,
        shuffle=False,
        verbose=0,
        callbacks=list(callbacks),
    )
    return model.get_weights()


def check_equal(ours, expected):
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_schedule_is_models_of_growing_depth_on_the_same_weights(batches):
    model = make()
    ours = fit(model, batches, [depth.DepthSchedule({0: 1, 2: DEPTH})])

    shallow, deep = make(1), make(DEPTH)
    deep.set_weights(fit(shallow, batches, steps=2))
    expected = fit(deep, batches, steps=2, skip=2)

    check_equal(ours, expected)
    assert model.backbone.encoder.active_layers == DEPTH


def test_random_depth_trains_the_depth_it_draws(batches):
    model = make()
    callback = depth.RandomDepth([1, DEPTH], seed=3)
    depths = [callback.depth_of(step) for step in range(STEPS)]
    assert set(depths) == {1, DEPTH}

    ours = fit(model, batches, [callback])

    weights = make().get_weights()
    for step, count in enumerate(depths):
        other = make(count)
        other.set_weights(weights)
        weights = fit(other, batches, steps=1, skip=step)
    check_equal(ours, weights)
    assert model.backbone.encoder.active_layers == DEPTH


def test_evaluation_sees_the_depth_of_the_moment(batches):
    model = make()
    before = model.evaluate(*batches, batch_size=BATCH, verbose=0)

    depth.set_active_layers(model, 1)
    shallow = make(1)

    np.testing.assert_allclose(
        model.evaluate(*batches, batch_size=BATCH, verbose=0),
        shallow.evaluate(*batches, batch_size=BATCH, verbose=0),
        rtol=1e-5,
    )
    depth.set_active_layers(model, DEPTH)
    after = model.evaluate(*batches, batch_size=BATCH, verbose=0)
    np.testing.assert_allclose(after, before, rtol=1e-6)


def test_random_depth_evaluates_with_all_layers_compiled_once(batches):
    model, seen, functions = make(), [], []

    class Look(keras.callbacks.Callback):
        def on_test_batch_begin(self, batch, logs=None):
            seen.append(model.backbone.encoder.active_layers)
            functions.append(model.test_function)

    model.fit(
        *batches,
        batch_size=BATCH,
        epochs=2,
        verbose=0,
        validation_data=batches,
        callbacks=[depth.RandomDepth([1], seed=0), Look()],
    )

    assert set(seen) == {DEPTH}
    assert len(set(map(id, functions))) == 1


@pytest.mark.parametrize("depths", [{}, {1: 2}, {-1: 1, 0: 2}])
def test_a_schedule_begins_at_step_0(depths):
    with pytest.raises(ValueError, match="depth at step 0"):
        depth.DepthSchedule(depths)


def test_a_depth_that_the_model_has_not_is_refused_at_once(batches):
    with pytest.raises(ValueError, match=r"between 1 and 3.*\[1, 4\]"):
        fit(make(), batches, [depth.DepthSchedule({0: 1, 2: 4})])


@pytest.mark.parametrize(
    "depths, error, message",
    [
        ([1, 4], ValueError, r"between 1 and 3.*\[1, 4\]"),
        ([], ValueError, "no depth to draw"),
        ([1.5], TypeError, "`depths` must be a whole number.*=1.5"),
    ],
)
def test_depths_that_cannot_be_drawn_are_refused_at_once(
    batches, depths, error, message
):
    with pytest.raises(error, match=message):
        fit(make(), batches, [depth.RandomDepth(depths, seed=0)])


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras has one step a call there"
)
def test_steps_of_one_call_are_counted_each(batches):
    schedule = depth.DepthSchedule({0: 1, 2: 2, 6: DEPTH})
    seen = []

    class Look(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            seen.append((schedule.step, model.backbone.encoder.active_layers))

    model = make()
    model.compile(
        keras.optimizers.SGD(0.5),
        steps_per_execution=2,
        jit_compile=keras.backend.backend() == "jax",
    )
    model.fit(
        *batches,
        batch_size=BATCH,
        epochs=2,
        verbose=0,
        callbacks=[schedule, Look()],
    )

    assert seen == [(0, 1), (2, 2), (4, 2), (6, DEPTH)]
