"""The tied vocabulary head against NumPy."""

import keras
import numpy as np
import pytest

from keras_albert.layers import MaskedLMHead
from tests.checks import check_layer
from tests.checks import randomize
from tests.checks import to_numpy
from tests.reference import numpy_albert

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(8).normal(size=(2, 5, 8)).astype("float32")
POSITIONS = np.array([[4, 1, 0], [2, 2, 3]], dtype="int32")


def make(**keywords):
    table = keras.layers.ReversibleEmbedding(11, 3, **keywords)
    table.build()
    head = MaskedLMHead(table, **keywords)
    head(X, mask_positions=POSITIONS)
    randomize(head)
    return head


@pytest.mark.filterwarnings("ignore:A MaskedLMHead made")
def test_is_a_proper_layer():
    check_layer(make(), [X], {"mask_positions": POSITIONS}, num_weights=6)


def test_a_head_that_is_no_longer_tied_is_warned_of():
    config = make().get_config()

    with pytest.warns(UserWarning, match="no longer tied"):
        MaskedLMHead.from_config(config)


def test_logits_are_tied_to_the_embedding():
    head = make()

    logits = to_numpy(head(X, mask_positions=POSITIONS))

    gathered = np.stack([X[b, POSITIONS[b]] for b in range(2)])
    hidden = numpy_albert.gelu_tanh(
        gathered @ to_numpy(head.transform.kernel.value)
        + to_numpy(head.transform.bias.value)
    )
    hidden = numpy_albert.layer_norm(
        hidden,
        to_numpy(head.layer_norm.gamma.value),
        to_numpy(head.layer_norm.beta.value),
    )
    expected = hidden @ to_numpy(
        head.token_embedding.embeddings.value
    ).T + to_numpy(head.output_bias.value)
    np.testing.assert_allclose(logits, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_logits_are_float32_under_mixed_precision(dtype):
    logits = make(dtype=dtype)(X, mask_positions=POSITIONS)

    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
