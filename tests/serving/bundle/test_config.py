"""The server's configuration files, read with the server's own messages."""

import pytest
from google.protobuf import text_format

from keras_albert.serving.bundle.config import Release
from keras_albert.serving.bundle.config import batching_config
from keras_albert.serving.bundle.config import check_name
from keras_albert.serving.bundle.config import monitoring_config
from keras_albert.serving.bundle.config import read_releases
from keras_albert.serving.bundle.config import write_releases
from keras_albert.serving.server.batching_parameters import (
    read_batching_parameters,
)
from keras_albert.serving.server.models.config import read_model_configs

RELEASES = {
    "reviews": Release("reviews", {"stable": 1, "canary": 3}),
    "news": Release("news", {"stable": 7}),
}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "models.config"
    write_releases(path, RELEASES)
    return path


def test_the_server_s_messages_read_it(config):
    messages = pytest.importorskip(
        "tensorflow_serving.config.model_server_config_pb2",
        reason="needs the server's messages: tensorflow-serving-api",
    )
    message = messages.ModelServerConfig()
    text_format.Parse(config.read_text(), message)

    news, reviews = message.model_config_list.config

    assert (news.name, reviews.name) == ("news", "reviews")
    assert reviews.base_path == "/models/reviews"
    assert reviews.model_platform == "tensorflow"
    assert list(reviews.model_version_policy.specific.versions) == [1, 3]
    assert dict(reviews.version_labels) == {"stable": 1, "canary": 3}
    assert dict(news.version_labels) == {"stable": 7}


def test_the_local_server_reads_it(config):
    pytest.importorskip("tensorflow_serving")

    news, reviews = read_model_configs(config)

    assert reviews.versions == (1, 3)
    assert reviews.labels == {"stable": 1, "canary": 3}
    assert news.wanted([1, 7, 8]) == {7}


def test_what_is_read_is_what_was_written(config):
    found = read_releases(config)

    assert {name: r.labels for name, r in found.items()} == {
        name: r.labels for name, r in RELEASES.items()
    }
    assert found["reviews"].served == (1, 3)
    assert read_releases(config.with_name("other")) == {}


def test_versions_without_a_label_are_served_too(tmp_path):
    path = tmp_path / "models.config"

    write_releases(path, {"x": Release("x", {"stable": 2}, versions=(5,))})

    assert read_releases(path)["x"].served == (2, 5)


@pytest.mark.parametrize(
    "text, message",
    [
        ("model_config_list { nonsense }", "cannot be read.*nonsense"),
        (
            'model_config_list { config { name: "x" model_version_policy '
            "{ all {} } } }",
            "all versions of x, not chosen ones",
        ),
    ],
)
def test_files_of_others_are_not_written_over(tmp_path, text, message):
    path = tmp_path / "models.config"
    path.write_text(text)

    with pytest.raises(ValueError, match=message):
        read_releases(path)


def test_batching(tmp_path):
    path = tmp_path / "batching.config"
    path.write_text(batching_config())

    parameters = read_batching_parameters(path)

    assert parameters.max_batch_size == 128
    assert parameters.batch_timeout_micros == 2000
    # Any size, without rows that nobody asked for.
    assert parameters.padded_size(5) == 5
    assert "pad_variable_length_inputs" not in batching_config()


def test_monitoring():
    assert monitoring_config().split() == [
        *("prometheus_config", "{", "enable:", "true"),
        *("path:", '"/monitoring/prometheus/metrics"', "}"),
    ]


@pytest.mark.parametrize("name", ["reviews", "Reviews_2.v1-b", "7"])
def test_good_names(name):
    check_name(name)


@pytest.mark.parametrize(
    "name", ["", "my model", "a:b", ".hidden", "评论", "a\n"]
)
def test_bad_names(name):
    with pytest.raises(ValueError, match="becomes the model's name in URLs"):
        check_name(name)
