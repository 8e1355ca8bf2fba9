"""A bundle asked, line by line, of a server that warmed up with its records."""

import json
import re

import pytest

from keras_albert.serving.bundle.bundle import write_bundle
from keras_albert.serving.server.batching_parameters import (
    read_batching_parameters,
)
from keras_albert.serving.server.models.config import read_model_configs
from tests.serving.bundle.test_readme import curl_lines
from tests.serving.running_server import ask
from tests.serving.running_server import running_server

KINDS = ("classifier", "pretrainer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Exports of two kinds of model, side by side, with their bundle."""
    from keras_albert.export.saved_model import export_saved_model
    from tests.export.tiny_classifiers import tiny_classifier
    from tests.export.tiny_classifiers import tiny_pretrainer

    root = tmp_path_factory.mktemp("served")
    models = (
        tiny_classifier("word_piece", labels=["bad", "good"]),
        tiny_pretrainer("word_piece"),
    )
    for name, model in zip(KINDS, models, strict=True):
        export_saved_model(model, root / name, verify=False)
        write_bundle(root / name)
    return root


@pytest.fixture(scope="module")
def server(folder):
    """A local server that is run with the bundle's own configuration."""
    config = folder / "deploy" / "config"
    with running_server(
        read_model_configs(config / "models.config", folder),
        batching=read_batching_parameters(config / "batching.config"),
    ) as server:
        yield server


def test_every_line_of_the_readme_is_answered(folder, server):
    text = (folder / "deploy" / "README.md").read_text()
    lines = list(curl_lines(text))

    for url, body in lines:
        url = re.sub("http://localhost:8501", server.url, url)
        status, _, answer = ask(url, body)
        assert status == 200, (url, body, answer)
        (rows,) = json.loads(answer).values()
        assert len(rows) == 1
    # All signatures but `tokens`: four of the one, four of the other.
    assert len(lines) == 8


def test_labels_are_those_of_the_bundle(server):
    url = f"{server.url}/v1/models/classifier/labels"
    body = {"instances": ["kind"]}

    assert ask(f"{url}/stable:predict", body)[0] == 200
    status, _, answer = ask(f"{url}/canary:predict", body)
    assert (status, b"version label: canary" in answer) == (400, True)


def test_a_loaded_model_is_ready(folder, server):
    for name in KINDS:
        assert ask(f"{server.url}/v1/models/{name}/metadata")[0] == 200


def test_masks_are_filled_in_json(server):
    url = f"{server.url}/v1/models/pretrainer:predict"
    body = {"instances": ["the [MASK] was", "none"]}

    _, _, answer = ask(url, body)

    one, none = json.loads(answer)["predictions"]
    assert (one["num_masks"], none["num_masks"]) == (1, 0)
    assert all(one["tokens"][0])
    assert none["tokens"] == [[""] * 5] * 8


def test_an_empty_batch_is_served(server):
    for name in KINDS:
        status, _, answer = ask(
            f"{server.url}/v1/models/{name}:predict", {"inputs": []}
        )
        assert status == 200, answer
