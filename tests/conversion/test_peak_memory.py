"""No conversion takes much more memory than the weights of one model."""

import numpy as np
import pytest

from keras_albert.conversion import convert
from keras_albert.conversion.checking import check_inputs
from keras_albert.conversion.checking import outputs_of
from keras_albert.conversion.converting import _write
from keras_albert.conversion.opening import open_source
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from keras_albert.conversion.source import load
from keras_albert.conversion.variable_memory import Unfilled
from keras_albert.conversion.variable_memory import fill
from keras_albert.layers.initialization import filled_later
from keras_albert.models import AlbertBackbone
from keras_albert.models import AlbertPretrainer
from tests.peak_memory import peak_memory

pytest.importorskip("transformers", reason="runs what was written for it")

# keras-hub's is the last: the model goes over into it.
FORMATS = ["google", "preset", "hugging_face", "keras_hub"]
# The two kernels of the feed-forward network are three quarters of the model.
# What is as large is given back by the C library when it is freed, so that it
# is seen whatever ran before.
SIZES = {
    "hidden_dim": 1024,
    "intermediate_dim": 8192,
    "num_layers": 1,
    "num_heads": 8,
    "max_sequence_length": 32,
    "activation": "gelu_tanh",
}
KERNEL_BYTES = 4 * 1024 * 8192


def pretrainer(**sizes):
    """A model in memory that goes back when released, as a conversion's."""
    arguments = {"vocabulary_size": 99, "embedding_dim": 16, **SIZES, **sizes}
    with filled_later(Unfilled()):
        model = AlbertPretrainer(AlbertBackbone(**arguments))
    generator = np.random.default_rng(1)
    for variable in model.weights:
        noise = generator.standard_normal(variable.shape, "float32")
        fill(variable, noise / 20)
    return model


def write_all(model, folder):
    """Returns the peak of writing each format, beside the model."""
    report = ConversionReport({}, {}, {}, [])
    converted = Converted(model, None, report, {}, "preset")
    # Nor does what a library allots for itself at this size: it keeps it.
    outputs_of(converted, check_inputs(model.backbone.get_config()), folder)
    peaks = {}
    for to in FORMATS:
        (folder / to).mkdir(parents=True)
        peaks[to] = peak_memory(
            lambda to=to: _write(converted, folder / to, to)
        )
    return peaks


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """`(folder, peaks of writing, bytes of the weights)`."""
    folder = tmp_path_factory.mktemp("written")
    # What libraries load when they are first used does not count.
    small = pretrainer(hidden_dim=8, intermediate_dim=16)
    write_all(small, folder / "small")
    for kind in FORMATS:
        opened(folder / "small" / kind)
    convert(folder / "small" / "google", folder / "small" / "again")
    convert(folder / "small" / "preset", folder / "small" / "t", "hugging_face")
    peaks = write_all(pretrainer(), folder)
    files = (folder / "google").glob("*.data-*")
    return folder, peaks, sum(file.stat().st_size for file in files)


def opened(folder):
    source = open_source(folder)
    return source if isinstance(source, Converted) else load(source)


@pytest.mark.every_backend
@pytest.mark.parametrize(
    ("to", "most"),
    [
        ("google", 0.8),
        ("preset", 0.8),
        ("hugging_face", 0.8),
        # One that goes over is there twice until ours is released.
        ("keras_hub", 1.7),
    ],
)
def test_writing_copies_no_kernel(written, to, most):
    _, peaks, _ = written
    assert peaks[to] < most * KERNEL_BYTES


@pytest.mark.every_backend
@pytest.mark.parametrize(
    ("kind", "most"),
    [
        # A block beside the model, but no kernel.
        ("google", 1.15),
        ("hugging_face", 1.15),
        # Their model and ours, of which theirs is released on the way.
        ("keras_hub", 1.75),
    ],
)
def test_reading_takes_the_memory_of_the_model(written, kind, most):
    folder, _, size = written
    peak = peak_memory(lambda: opened(folder / kind))
    assert peak < most * size


@pytest.mark.every_backend
@pytest.mark.parametrize(
    ("source", "to"), [("google", "preset"), ("preset", "hugging_face")]
)
def test_a_conversion_holds_one_model_at_a_time(written, source, to, tmp_path):
    folder, _, size = written
    peak = peak_memory(lambda: convert(folder / source, tmp_path / "out", to))
    assert peak < 1.5 * size + KERNEL_BYTES
