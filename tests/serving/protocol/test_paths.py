import pytest

from keras_albert.serving.protocol.paths import Target
from keras_albert.serving.protocol.paths import is_api
from keras_albert.serving.protocol.paths import model_path
from keras_albert.serving.protocol.paths import parse_path
from keras_albert.serving.protocol.statuses import ServingError


@pytest.mark.parametrize(
    "method, path, target",
    [
        ("POST", "/v1/models/m:predict", Target("predict", "m")),
        ("POST", "/v1/models/m/versions/7:regress", Target("regress", "m", 7)),
        (
            "POST",
            "/v1/models/m/labels/a%20b:classify",
            Target("classify", "m", None, "a b"),
        ),
        ("GET", "/V1/MODELS/m%2Fn", Target("status", "m/n")),
        ("GET", "/v1/models/m/metadata", Target("metadata", "m")),
        ("GET", "/v1/models/m/versions/3", Target("status", "m", 3)),
        ("GET", "/v1/models/m/labels/l", Target("status", "m", None, "l")),
    ],
)
def test_targets(method, path, target):
    assert parse_path(method, path) == target


@pytest.mark.parametrize(
    "method, path, text",
    [
        ("POST", "/v1/models/m:PREDICT", "Malformed request"),
        ("POST", "/v1/models/m", "Malformed request"),
        ("POST", "/v1/models/m/n:predict", "Malformed request"),
        ("GET", "/v1/models/m:predict", "Malformed request"),
        ("GET", "/v1/models/m?a=b:predict", "Malformed request"),
        ("HEAD", "/v1/models/m", "Malformed request: HEAD"),
        ("GET", "/v1/models", "Missing model name"),
        ("GET", "/v1/models/m/versions/9223372036854775808", "to numeric"),
        ("GET", "/v1/models/m/versions/" + "9" * 5000, "to numeric"),
    ],
)
def test_what_is_no_target(method, path, text):
    with pytest.raises(ServingError, match=text) as caught:
        parse_path(method, path)

    assert caught.value.code == "INVALID_ARGUMENT"


def test_the_api_lies_below_v1():
    assert all(map(is_api, ["/v1/", "/V1/x"]))
    assert not any(map(is_api, ["/v1", "/", "/v10/", "/v2/models"]))


@pytest.mark.parametrize(
    "version, label", [(None, None), (7, None), (None, "a/b:c")]
)
def test_what_is_written_is_read_again(version, label):
    path = model_path("shop reviews/中文", version, label)

    assert parse_path("GET", path) == Target(
        "status", "shop reviews/中文", version, label
    )
