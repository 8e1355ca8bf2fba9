"""LAMB against Google's own numbers and against the paper written in NumPy."""

import keras
import numpy as np
import pytest

from keras_albert.training.lamb import Lamb

pytestmark = pytest.mark.every_backend

NAMES = ["layer/kernel", "layer/bias", "LayerNorm/gamma", "zeros/kernel"]


def numpy_lamb(w, grads, *, rate, decay, correct, adapt, eps=1e-6):
    """The paper's algorithm 2 for one variable, in float64."""
    w, m, v = w.astype("float64"), 0.0, 0.0
    for t, g in enumerate(grads.astype("float64"), start=1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        m_hat = m / (1 - 0.9**t) if correct else m
        v_hat = v / (1 - 0.999**t) if correct else v
        r = m_hat / (np.sqrt(v_hat) + eps) + decay * w
        norms = np.linalg.norm(w), np.linalg.norm(r)
        ratio = norms[0] / norms[1] if adapt and min(norms) > 0 else 1.0
        w = w - rate * ratio * r
    return w


@pytest.fixture
def reference(golden):
    return np.load(golden / "google_lamb.npz")


def variables_of(reference):
    made = []
    for name in NAMES:
        scope, leaf = name.split("/")
        with keras.name_scope(scope):
            made.append(keras.Variable(reference[f"init/{name}"], name=leaf))
    return made


def apply_steps(optimizer, variables, gradients):
    for step_gradients in gradients:
        optimizer.apply(
            [keras.ops.convert_to_tensor(g) for g in step_gradients], variables
        )
        yield [keras.ops.convert_to_numpy(v) for v in variables]


def gradients_of(reference):
    return zip(*(reference[f"grads/{name}"] for name in NAMES), strict=True)


def test_six_steps_equal_googles_code(reference):
    variables = variables_of(reference)
    optimizer = Lamb(learning_rate=0.01, weight_decay=0.01)

    steps = list(apply_steps(optimizer, variables, gradients_of(reference)))

    for i, name in enumerate(NAMES):
        ours = np.stack([values[i] for values in steps])
        np.testing.assert_allclose(
            ours, reference[f"after_step/{name}"], atol=1e-6, err_msg=name
        )


@pytest.mark.parametrize("correct", [False, True])
def test_every_variable_follows_the_paper(reference, correct):
    variables = variables_of(reference)
    optimizer = Lamb(0.01, weight_decay=0.1, bias_correction=correct)

    *_, last = apply_steps(optimizer, variables, gradients_of(reference))

    for name, ours in zip(NAMES, last, strict=True):
        matrix = name.endswith("kernel")
        expected = numpy_lamb(
            reference[f"init/{name}"],
            reference[f"grads/{name}"],
            rate=0.01,
            decay=0.1 if matrix else 0.0,
            correct=correct,
            adapt=matrix,
        )
        np.testing.assert_allclose(ours, expected, atol=1e-6, err_msg=name)


def test_decay_and_adaptation_are_excluded_separately(reference):
    variables = variables_of(reference)[:1]
    grads = reference["grads/layer/kernel"]
    optimizer = Lamb(
        0.01,
        weight_decay=0.1,
        exclude_from_weight_decay=["layer/kernel"],
        exclude_from_layer_adaptation=[],
    )

    *_, last = apply_steps(optimizer, variables, [[g] for g in grads])

    expected = numpy_lamb(
        reference["init/layer/kernel"],
        grads,
        rate=0.01,
        decay=0.0,
        correct=False,
        adapt=True,
    )
    np.testing.assert_allclose(last[0], expected, atol=1e-6)


def test_repeated_ids_of_an_embedding_count_once_summed():
    table = np.arange(1.0, 9.0, dtype="float32").reshape(4, 2)
    layer = keras.layers.Embedding(4, 2, weights=[table])
    model = keras.Sequential([keras.Input((3,), dtype="int32"), layer])
    model.compile(Lamb(0.1), loss=lambda _, y: keras.ops.sum(y, axis=(1, 2)))

    model.train_on_batch(np.array([[1, 1, 3]]), np.zeros((1, 3, 2)))

    gradient = np.array([[0, 0], [2, 2], [0, 0], [1, 1]], "float32")
    expected = numpy_lamb(
        table, gradient[None], rate=0.1, decay=0.01, correct=False, adapt=True
    )
    np.testing.assert_allclose(layer.get_weights()[0], expected, atol=1e-5)


def make_model(**options):
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.Dense(3, name="layer"),
            keras.layers.LayerNormalization(name="layer_norm"),
            keras.layers.Dense(1, name="head"),
        ]
    )
    model.compile(Lamb(0.01, weight_decay=0.1, **options), loss="mse")
    return model


def data():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(32, 5)).astype("float32")
    return x, x[:, :1] * 2


def fit(model, epochs=2):
    x, y = data()
    model.fit(x, y, epochs=epochs, batch_size=8, shuffle=False, verbose=0)
    return model.get_weights()


@pytest.mark.parametrize("correct", [False, True])
def test_save_reload_and_resume_equal_an_unbroken_run(tmp_path, correct):
    options = {
        "bias_correction": correct,
        "exclude_from_weight_decay": ["head/kernel", "bias"],
        "exclude_from_layer_adaptation": ["layer/kernel"],
    }
    unbroken = fit(make_model(**options), epochs=4)
    model = make_model(**options)
    fit(model, epochs=2)

    model.save(tmp_path / "half.keras")
    reloaded = keras.saving.load_model(tmp_path / "half.keras")

    for ours, expected in zip(fit(reloaded, epochs=2), unbroken, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_configuration_carries_every_exclusion():
    optimizer = Lamb(
        exclude_from_weight_decay=["a"], exclude_from_layer_adaptation=["b"]
    )

    again = Lamb.from_config(optimizer.get_config())

    assert again.get_config() == optimizer.get_config()
    assert again.decay_exclusions == ["a"]
    assert again.adaptation_exclusions == ["b"]


def test_accumulated_micro_batches_equal_one_large_batch():
    x, y = data()
    whole = make_model()
    whole.fit(x, y, batch_size=16, shuffle=False, verbose=0)

    accumulated = make_model(gradient_accumulation_steps=2)
    accumulated.fit(x, y, batch_size=8, shuffle=False, verbose=0)

    for ours, expected in zip(
        accumulated.get_weights(), whole.get_weights(), strict=True
    ):
        np.testing.assert_allclose(ours, expected, atol=1e-6)


def test_global_clipping_scales_the_gradient_before_the_moments():
    value = np.array([[3.0, 4.0]], "float32")
    gradient = np.array([[[30.0, 40.0]]], "float32")
    variable = keras.Variable(value, name="kernel")
    optimizer = Lamb(0.1, global_clipnorm=1.0, epsilon=1.0)

    *_, last = apply_steps(optimizer, [variable], gradient[None])

    expected = numpy_lamb(
        value,
        gradient / 50,
        rate=0.1,
        decay=0.01,
        correct=False,
        adapt=True,
        eps=1.0,
    )
    np.testing.assert_allclose(last[0], expected, atol=1e-6)


def test_averaged_weights_replace_the_last_ones_at_the_end():
    last = fit(make_model(), epochs=1)

    averaged = fit(make_model(use_ema=True, ema_momentum=0.5), epochs=1)

    assert np.all(np.isfinite(averaged[0]))
    assert not np.allclose(averaged[0], last[0])


def test_pattern_given_as_one_string_is_refused():
    with pytest.raises(TypeError, match=r"Pass \['bias'\]"):
        Lamb(exclude_from_weight_decay="bias")


def test_exclusions_by_call_are_refused():
    with pytest.raises(NotImplementedError, match="constructor"):
        Lamb().exclude_from_weight_decay(var_names=["bias"])


@pytest.mark.skipif(
    keras.backend.backend() != "torch", reason="PyTorch tells what it makes"
)
def test_pytorch_makes_one_array_of_the_weights_size():
    import torch

    variable = keras.Variable(np.ones((4, 6), "float32"), name="kernel")
    optimizer = Lamb(0.1, weight_decay=0.1)
    optimizer.build([variable])
    gradient = torch.ones((4, 6))
    with torch.profiler.profile(profile_memory=True) as profile:
        optimizer.apply([gradient])

    made = [event.self_cpu_memory_usage for event in profile.events()]
    assert [size for size in made if size >= gradient.nbytes] == [96]
