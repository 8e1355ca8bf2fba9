import math
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
def two_devices():
    """JAX makes two devices of this processor, in processes that start now."""
    pytest.importorskip("jax")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
        yield


@pytest.fixture(scope="module")
def compiled(settings, two_devices):
    return plan(
        **settings, phases="16@1:50%,32x4:30%,16x8:20%", ema_momentum=0.99
    )


def test_the_compiler_is_asked_in_its_own_process(compiled):
    assert compiled.why_estimated is None
    assert [phase.method for phase in compiled.phases] == ["compiled"] * 3
    assert compiled.fits
    assert compiled.machine.source == "measured here"
    assert all(phase.compile_seconds > 0 for phase in compiled.phases)


def test_phases_of_a_run_are_compiled_at_their_own_shapes(compiled):
    shallow, long, whole = compiled.phases

    assert [phase.steps for phase in compiled.phases] == [50, 30, 20]
    # Half of the calls, of the same weights.
    assert shallow.memory["state"] == whole.memory["state"]
    assert shallow.memory["temporary"] < whole.memory["temporary"]
    assert 0.4 < shallow.compiled_flops / whole.compiled_flops < 0.8
    assert (whole.batch_per_core, long.batch_per_core) == (4, 2)
    assert compiled.run_seconds == pytest.approx(
        50 * shallow.update_seconds
        + 30 * long.update_seconds
        + 20 * whole.update_seconds
    )


def test_the_compilers_state_has_the_average_too(compiled):
    # Weights, both moments and the average, in float32.
    state = 16 * compiled.num_parameters

    for phase in compiled.phases:
        # And the batch, counts, and sums of metrics.
        assert state < phase.memory["state"] < state + 10_000


def test_devices_of_this_machine_share_a_batch(compiled, settings, two_devices):
    import os

    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

    assert compiled.machine.num_cores == 2
    assert compiled.machine.memory_bytes == total / 2
    sent = compiled.phases[0].collectives["all-reduce"]["bytes"]
    # Gradients of all weights once, and a few sums.
    gradients = 4 * compiled.num_parameters
    assert gradients <= sent < gradients + 2000
    with pytest.raises(ValueError, match="A batch of 7 .* over 2 devices"):
        plan(**{**settings, "batch_size": 7})


def test_an_estimate_says_that_it_is_one(compiled, settings):
    estimated = plan(
        **settings,
        phases="16@1:50%,32x4:30%,16x8:20%",
        ema_momentum=0.99,
        compiled=False,
    )

    assert estimated.why_estimated == "as asked"
    assert estimated.num_parameters == compiled.num_parameters
    for guess, known in zip(estimated.phases, compiled.phases, strict=True):
        assert guess.method == "estimated"
        ratio = known.memory["state"] / guess.memory["state"]
        assert 1 < ratio < 1.3
        ratio = known.memory["total"] / guess.memory["total"]
        assert 0.4 < ratio < 2


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
    (phase,) = made.phases

    assert (made.machine.num_cores, phase.batch_per_core) == (4, 32)
    assert made.num_parameters == 11_813_810
    # 9.345e12 operations on 197e12 a second.
    assert phase.seconds["arithmetic"] == pytest.approx(0.0474, rel=0.01)
    assert phase.collectives["all-reduce"]["bytes"] == 4 * 11_813_810
    assert made.fits
    assert phase.largest_batch > 128
    assert phase.epoch_seconds == pytest.approx(10 * phase.update_seconds)
    assert phase.epoch_price == pytest.approx(
        phase.epoch_seconds / 3600 * 4 * 1.2
    )
    # The published recipe, to the end.
    assert made.steps == phase.steps == 125_000 * 4096 // 128
    assert made.run_price == phase.run_price


def test_what_does_not_fit_is_said():
    made = plan(
        size="albert_xxlarge",
        phases="128x32:90%,512x64:10%",
        steps=100,
        topology="v5e:1x1",
        compiled=False,
    )

    assert [phase.fits for phase in made.phases] == [True, False]
    assert not made.fits
    assert made.tightest_phase == 1
    assert made.phases[1].largest_batch < 64


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"topology": "v5e:2x4", "batch_size": 20}, "batch size of 16 or 24"),
        (
            {"topology": "v5e:2x2", "phases": "16:50%,16x6:50%"},
            "A batch of 6 examples",
        ),
        ({"topology": "v9:2x2"}, "no TPU chip"),
        ({"num_examples": 0}, "num_examples"),
        ({"price_per_core_hour": -1}, "price_per_core_hour"),
        ({"price_per_core_hour": math.nan}, "price_per_core_hour=nan"),
        ({"price_per_core_hour": math.inf}, "price_per_core_hour=inf"),
        ({"efficiency": 1.5}, "efficiency"),
        ({"efficiency": math.nan}, "efficiency=nan"),
        ({"find_largest_batch": True, "compiled": False}, "by compiling"),
        ({"size": "albert_base"}, "Both"),
        ({"phases": "16:50%,64:50%"}, "positions"),
    ],
)
def test_wrong_arguments_are_explained_at_once(settings, changes, words):
    with pytest.raises(ValueError, match=words):
        plan(**{**settings, **changes})


def test_parts_of_a_batch_must_divide_among_cores(settings):
    changes = {"topology": "v5e:2x2", "accumulate": 4}

    with pytest.raises(ValueError, match="4 devices times accumulate=4"):
        plan(**{**settings, **changes})
    made = plan(**{**settings, **changes, "batch_size": 16}, compiled=False)
    assert made.phases[0].batch_per_core == 1


def test_without_the_compiler_the_extra_is_named(settings, monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "libtpu" else found(name, *rest),
    )

    made = plan(**settings, topology="v5e:1x1")

    assert made.phases[0].method == "estimated"
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
