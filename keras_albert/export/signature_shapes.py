"""Which signatures an export has: their inputs, outputs, dtypes and shapes.

This is the promise to clients. The graph is built elsewhere, and what is in
the file is compared with this table before an export counts as done.
"""

import dataclasses

MAX_MASKS = 8
NUM_CANDIDATES = 5
ORDER_LABELS = ("in order", "swapped")
TOKEN_NAMES = ("token_ids", "segment_ids", "padding_mask")


@dataclasses.dataclass(frozen=True)
class ServedTask:
    """What kind of model is exported, as far as clients see it.

    Args:
        kind: `"classifier"`, `"regressor"`, `"pretrainer"` or `"backbone"`.
        hidden_dim: int. Width of the vectors.
        sequence_length: int. Columns of the signature `tokens`.
        labels: tuple of string, a classifier's classes.
        vocabulary_size: int.
    """

    kind: str
    hidden_dim: int
    sequence_length: int
    vocabulary_size: int
    labels: tuple = ()

    @property
    def num_candidates(self):
        """Tokens that are named for a mask."""
        return min(NUM_CANDIDATES, self.vocabulary_size)

    def signatures(self):
        """Lists the signatures.

        Returns:
            Dict from name to `{"inputs": ..., "outputs": ...}`, and in these
            from name to `[dtype, shape]` with -1 for a free size.

        >>> task = ServedTask("backbone", 8, 16, 11)
        >>> task.signatures()["embed"]["inputs"]
        {'text': ['string', [-1]]}
        """
        answer = self._answer()
        embedding = {
            "pooled": ["float32", [-1, self.hidden_dim]],
            "mean_pooled": ["float32", [-1, self.hidden_dim]],
        }
        text, pair = strings("text"), strings("text_a", "text_b")
        shape = [-1, self.sequence_length]
        tokens = {name: ["int32", shape] for name in TOKEN_NAMES}
        found = {
            "serving_default": (text, answer or embedding),
            "tokens": (tokens, answer or embedding),
            "embed": (text, embedding),
        }
        if self.kind in ("classifier", "regressor"):
            found["pair"] = (pair, answer)
        if self.kind == "classifier":
            found["classify"] = (strings("inputs"), self._classes())
        if self.kind == "regressor":
            values = {"outputs": ["float32", [-1]]}
            found["regress"] = (strings("inputs"), values)
        if self.kind == "pretrainer":
            candidates = self._candidates()
            found["serving_default"] = (text, candidates)
            found["fill_mask"] = (text, candidates)
            found["sentence_order"] = (pair, labelled(len(ORDER_LABELS)))
        return {
            name: {"inputs": inputs, "outputs": outputs}
            for name, (inputs, outputs) in found.items()
        }

    def _answer(self):
        if self.kind == "classifier":
            return labelled(len(self.labels))
        if self.kind == "regressor":
            return {"value": ["float32", [-1]]}
        return None

    def _classes(self):
        shape = [-1, len(self.labels)]
        return {"classes": ["string", shape], "scores": ["float32", shape]}

    def _candidates(self):
        shape = [-1, MAX_MASKS, self.num_candidates]
        return {
            "num_masks": ["int32", [-1]],
            "tokens": ["string", shape],
            "scores": ["float32", shape],
        }


def strings(*names):
    """Inputs that are strings, one a row."""
    return {name: ["string", [-1]] for name in names}


def labelled(num_classes):
    """Outputs that are the best class and the probabilities of all."""
    return {
        "label": ["string", [-1]],
        "probabilities": ["float32", [-1, num_classes]],
    }
