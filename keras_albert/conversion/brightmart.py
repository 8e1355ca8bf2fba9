"""Checkpoints of `brightmart/albert_zh`, its own layout, in.

That code multiplies the token table by a second one at once and adds
positions and segments at the hidden width. The product of the two tables is a
table of the hidden width, with which ours computes the very same: E = H,
without a projection. It is larger than the two; nothing else changes.

Its models of Google's layout (`albert_tiny_zh_google`,
`albert_small_zh_google`) are read as Google's.
"""

import numpy as np

from keras_albert.conversion.weight_files import WeightFile
from keras_albert.conversion.weight_table import WeightNames

TOKENS = "bert/embeddings/word_embeddings"
SECOND = "bert/embeddings/word_embeddings_2"
PRODUCT = f"{TOKENS} x {SECOND}"
_LAYER = "bert/encoder/layer_shared"


def brightmart_names(google):
    """Returns the names of this layout, given Google's `WeightNames`."""
    scopes = {
        **google.scopes,
        "layers/query": f"{_LAYER}/attention/self/query",
        "layers/key": f"{_LAYER}/attention/self/key",
        "layers/value": f"{_LAYER}/attention/self/value",
        "layers/attention_output": f"{_LAYER}/attention/output/dense",
        "layers/attention_norm": f"{_LAYER}/attention/output/LayerNorm",
        "layers/intermediate": f"{_LAYER}/intermediate/dense",
        "layers/feed_forward_output": f"{_LAYER}/output/dense",
        "layers/feed_forward_norm": f"{_LAYER}/output/LayerNorm",
    }
    form = google.exact["embeddings/tokens/table"][1]
    exact = {**google.exact, "embeddings/tokens/table": (PRODUCT, form)}
    return WeightNames(scopes, google.leaves, exact)


def brightmart_arguments(arguments):
    """Returns the arguments of the equal model without a projection."""
    return {**arguments, "embedding_dim": arguments["hidden_dim"]}


class MultipliedTables(WeightFile):
    """A file whose two token tables are read as their product."""

    def __init__(self, file):
        self._file = file
        shapes = dict(file.shapes)
        tokens, second = shapes.pop(TOKENS), shapes.pop(SECOND)
        self.shapes = {**shapes, PRODUCT: (tokens[0], second[1])}

    def read(self, name):
        """Returns the array of that name."""
        if name != PRODUCT:
            return self._file.read(name)
        return np.matmul(self._file.read(TOKENS), self._file.read(SECOND))

    def spelled(self, name):
        """Returns the name as the file itself has it."""
        return self._file.spelled(name)
