"""The process itself is started by the tests of `plan`."""

import json

import keras
import pytest

from keras_albert.training.plan_estimate import num_parameters
from keras_albert.training.plan_machine import Machine
from keras_albert.training.plan_settings import to_plain

pytestmark = pytest.mark.every_backend


@pytest.fixture(scope="module", autouse=True)
def _jax():
    if keras.backend.backend() != "jax":
        pytest.skip("the process runs on JAX")


@pytest.fixture(scope="module")
def settings(tiny_config):
    return {
        "config": {**tiny_config, "num_layers": 1, "vocabulary_size": 20},
        "batch_size": 6,
        "accumulate": 2,
        "sequence_length": 16,
        "steps": 3,
    }


def request_for(settings, search=False):
    request = {
        "settings": to_plain(settings),
        "topology": None,
        "search": search,
    }
    return json.loads(json.dumps(request))


def test_the_reply_has_machine_and_costs(settings):
    from keras_albert.training.plan_child import answer

    reply = json.loads(json.dumps(answer(request_for(settings))))

    assert reply["machine"]["source"] == "measured here"
    (step,) = reply["steps"]
    assert step["largest_batch"] is step["does_not_fit"] is None
    costs = step["costs"]
    # Half of the batch, int32 and float32: four rows of tokens, three of
    # predictions, and two numbers for the order.
    batch = 4 * 3 * (3 * 16 + 3 + 2 * 3 + 2)
    state = costs["argument_bytes"] - batch
    # Weights, both moments and the sum of the gradients; metrics and counts.
    assert 0 <= state - 16 * num_parameters(settings["config"]) < 2000
    assert costs["temporary_bytes"] > 0
    assert costs["seconds"] > 0


def test_a_batch_that_the_devices_cannot_share_is_told(settings, monkeypatch):
    from keras_albert.training import plan_child

    four = Machine("four", 4, 1e9, 1e9, 1e9, 1e9, "made up")
    monkeypatch.setattr(plan_child, "_machine", lambda *_: (four, []))

    reply = plan_child.answer(request_for(settings))

    assert "4 devices times accumulate=2" in reply["wrong"]
