import grpc
import pytest
import tensorflow as tf

from keras_albert.serving.protocol.statuses import HTTP_CODES
from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import code_of_http
from keras_albert.serving.protocol.statuses import invalid


def test_the_codes_are_those_of_grpc_and_tensorflow():
    assert set(HTTP_CODES) == {code.name for code in grpc.StatusCode}
    assert all(code == "OK" or hasattr(tf.errors, code) for code in HTTP_CODES)


@pytest.mark.parametrize(
    "status, code",
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (404, "NOT_FOUND"),
        (408, "DEADLINE_EXCEEDED"),
        (409, "ALREADY_EXISTS"),
        (413, "INVALID_ARGUMENT"),
        (418, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
        (599, "UNKNOWN"),
    ],
)
def test_http_statuses_mean_codes(status, code):
    assert code_of_http(status) == code


def test_an_error_tells_code_and_message():
    error = invalid("no text")

    assert isinstance(error, ServingError)
    assert (error.code, error.message) == ("INVALID_ARGUMENT", "no text")
    assert str(error) == "INVALID_ARGUMENT: no text"
