"""The process itself is started by the tests of `plan`."""

import keras
import pytest

from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import step_flops

pytestmark = pytest.mark.every_backend

CONFIG = {
    "num_layers": 6,
    "num_heads": 2,
    "embedding_dim": 64,
    "hidden_dim": 128,
    "intermediate_dim": 512,
    "max_sequence_length": 64,
    "vocabulary_size": 500,
}


@pytest.fixture(scope="module")
def reply():
    if keras.backend.backend() != "jax":
        pytest.skip("the process runs on JAX")
    from keras_albert.training.plan_child import answer

    settings = {
        "config": CONFIG,
        "batch_size": 16,
        "accumulate": 2,
        "sequence_length": 64,
        "unroll": False,
        "steps": 3,
    }
    return answer({"settings": settings, "topology": None, "search": False})


def test_the_reply_has_machine_and_costs(reply):
    assert reply["machine"]["source"] == "measured here"
    assert reply["largest_batch"] is None
    costs = reply["costs"]
    assert costs["argument_bytes"] > costs["output_bytes"] >= 0
    assert costs["temporary_bytes"] > 0
    assert costs["seconds"] > 0


def test_all_rounds_of_a_loop_are_counted(reply):
    # A batch of sixteen in two parts.
    shape = StepShape(CONFIG, 8, 64, num_predictions=10)
    flops = reply["costs"]["flops"]

    # The body alone would be a sixth.
    assert 0.85 * flops < step_flops(shape) <= flops
