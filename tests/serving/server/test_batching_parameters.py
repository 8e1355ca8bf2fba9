import pytest

from keras_albert.serving.server.batching_parameters import BatchingParameters
from keras_albert.serving.server.batching_parameters import (
    read_batching_parameters,
)

TEXT = """
max_batch_size { value: 32 }   # rows
batch_timeout_micros { value: 2000 }
max_enqueued_batches { value: 100 }
num_batch_threads { value: 4 }
thread_pool_name { value: "albert" }
allowed_batch_sizes: 1 allowed_batch_sizes: 8 allowed_batch_sizes: 32
pad_variable_length_inputs: false
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "batching.config"
        path.write_text(text)
        return read_batching_parameters(path)

    return read


def test_a_file_is_read(read):
    assert read(TEXT) == BatchingParameters(32, 2000, 100, 4, (1, 8, 32))


def test_what_is_left_out_has_the_server_s_defaults(read):
    found = read("")

    assert found.max_batch_size == 1000
    assert found.batch_timeout_micros == 0
    assert found.max_enqueued_batches == 10
    assert found.num_batch_threads >= 1


def test_requests_may_be_cut(read):
    found = read(
        "max_batch_size { value: 64 } max_execution_batch_size { value: 16 } "
        "enable_large_batch_splitting { value: true }"
    )

    assert found.batch_size == 16
    assert BatchingParameters(64, max_execution_batch_size=16).batch_size == 64


def test_batches_are_filled_up():
    parameters = BatchingParameters(32, allowed_batch_sizes=(1, 8, 32))

    assert [parameters.padded_size(n) for n in (1, 2, 8, 9, 32)] == [
        *(1, 8, 8, 32, 32),
    ]
    assert BatchingParameters(32).padded_size(5) == 5


@pytest.mark.parametrize(
    "text, error",
    [
        ("max_batch_size: 32", "batching.config is no file of batching"),
        ("unknown { value: 1 }", "unknown"),
        ("max_batch_size { value: 0 }", "max_batch_size must be at least 1"),
        ("batch_timeout_micros { value: -1 }", "at least 0"),
        (
            "max_batch_size { value: 8 } allowed_batch_sizes: 4",
            "end with the largest batch size, 8",
        ),
        (
            "max_batch_size { value: 8 } "
            "allowed_batch_sizes: 8 allowed_batch_sizes: 4",
            "must rise",
        ),
        ("pad_variable_length_inputs: true", "the answers would be wrong"),
        (
            "max_batch_size { value: 8 } "
            "max_execution_batch_size { value: 9 } "
            "enable_large_batch_splitting { value: true }",
            "must not exceed",
        ),
    ],
)
def test_what_cannot_be_meant(read, text, error):
    with pytest.raises(ValueError, match=error):
        read(text)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_batching_parameters(tmp_path / "none")
