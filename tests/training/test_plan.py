import subprocess
import textwrap

import pytest

import keras_albert as ka
from keras_albert.training.plan import _failure
from keras_albert.training.plan import plan


@pytest.fixture(scope="module")
def settings(tiny_config):
    return {
        "config": {**tiny_config, "vocabulary_size": 50},
        "batch_size": 8,
        "sequence_length": 16,
        "steps": 100,
    }


@pytest.fixture(scope="module")
def compiled(settings):
    pytest.importorskip("jax")
    return plan(**settings)


def test_the_compiler_is_asked_in_its_own_process(compiled, settings):
    assert compiled.method == "compiled"
    assert compiled.why_estimated is None
    assert compiled.fits
    assert compiled.machine.source == "measured here"
    assert compiled.compile_seconds > 0
    # Weights and both moments.
    assert compiled.memory["state"] > 12 * compiled.num_parameters
    assert compiled.run_seconds == pytest.approx(100 * compiled.update_seconds)


def test_an_estimate_says_that_it_is_one(compiled, settings):
    estimated = plan(**settings, compiled=False)

    assert estimated.method == "estimated"
    assert estimated.why_estimated == "as asked"
    assert estimated.num_parameters == compiled.num_parameters
    assert estimated.flops == compiled.flops
    ratio = compiled.memory["total"] / estimated.memory["total"]
    assert 0.5 < ratio < 2


def test_a_published_size_on_a_topology():
    made = ka.training.plan(
        size="albert_base",
        sequence_length=512,
        batch_size=128,
        dtype="mixed_bfloat16",
        topology="v5e:2x2",
        compiled=False,
        num_examples=1280,
        price_per_core_hour=1.2,
    )

    assert (made.machine.num_cores, made.batch_per_core) == (4, 32)
    assert made.num_parameters == 11_813_810
    # 9.345e12 operations on 197e12 a second.
    assert made.seconds["arithmetic"] == pytest.approx(0.0474, rel=0.01)
    assert made.collectives["all-reduce"]["bytes"] == 4 * 11_813_810
    assert made.fits
    assert made.largest_batch > 128
    assert made.epoch_seconds == pytest.approx(10 * made.update_seconds)
    assert made.epoch_price == pytest.approx(
        made.epoch_seconds / 3600 * 4 * 1.2
    )
    # The published recipe, to the end.
    assert made.steps == 125_000 * 4096 // 128


def test_what_does_not_fit_is_said():
    made = plan(
        size="albert_xxlarge",
        sequence_length=512,
        batch_size=64,
        topology="v5e:1x1",
        compiled=False,
    )

    assert not made.fits
    assert made.largest_batch < 64


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"topology": "v5e:2x4", "batch_size": 20}, "--batch-size 16 or --bat"),
        ({"topology": "v9:2x2"}, "no TPU chip"),
        ({"num_examples": 0}, "num_examples"),
        ({"price_per_core_hour": -1}, "price_per_core_hour"),
        ({"efficiency": 1.5}, "efficiency"),
        ({"size": "albert_base"}, "Both"),
    ],
)
def test_wrong_arguments_are_explained_at_once(settings, changes, words):
    with pytest.raises(ValueError, match=words):
        plan(**{**settings, **changes})


def test_parts_of_a_batch_must_divide_among_cores(settings):
    changes = {"topology": "v5e:2x2", "accumulate": 4}

    with pytest.raises(ValueError, match="4 cores in 4 parts"):
        plan(**{**settings, **changes})
    made = plan(**{**settings, **changes, "batch_size": 16}, compiled=False)
    assert made.batch_per_core == 1


def test_without_the_compiler_the_extra_is_named(settings, monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "libtpu" else found(name, *rest),
    )

    made = plan(**settings, topology="v5e:1x1")

    assert made.method == "estimated"
    assert 'pip install "keras-albert[tpu]"' in made.why_estimated


def test_a_compiler_that_fails_is_quoted():
    # What JAX writes below the error of a traceback.
    stderr = """\
    Traceback (most recent call last):
      File "plan_child.py", line 1, in <module>
    RuntimeError: Unknown backend tpu
    --------------------
    For simplicity, JAX has removed its internal frames from the traceback.
    """
    done = subprocess.CompletedProcess([], 1, "", textwrap.dedent(stderr))

    assert "failed: RuntimeError: Unknown backend tpu. " in _failure(done)
    assert "--no-compile" in _failure(done)
    killed = subprocess.CompletedProcess([], -9, "", "")
    assert "failed: exit code -9. " in _failure(killed)
