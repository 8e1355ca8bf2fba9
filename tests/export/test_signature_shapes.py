"""The promise to clients."""

import pytest

from keras_albert.export.signature_shapes import ServedTask

TEXT = {"text": ["string", [-1]]}
PAIR = {"text_a": ["string", [-1]], "text_b": ["string", [-1]]}
EXAMPLES = {"inputs": ["string", [-1]]}
VECTORS = {
    "pooled": ["float32", [-1, 8]],
    "mean_pooled": ["float32", [-1, 8]],
}


def signatures(kind, **options):
    return ServedTask(kind, 8, 16, 11, **options).signatures()


def test_classifier():
    answer = {
        "label": ["string", [-1]],
        "probabilities": ["float32", [-1, 3]],
    }
    classes = {
        "classes": ["string", [-1, 3]],
        "scores": ["float32", [-1, 3]],
    }
    tokens = {
        name: ["int32", [-1, 16]]
        for name in ("token_ids", "segment_ids", "padding_mask")
    }

    found = signatures("classifier", labels=("a", "b", "c"))

    assert found == {
        "serving_default": {"inputs": TEXT, "outputs": answer},
        "pair": {"inputs": PAIR, "outputs": answer},
        "tokens": {"inputs": tokens, "outputs": answer},
        "classify": {"inputs": EXAMPLES, "outputs": classes},
        "embed": {"inputs": TEXT, "outputs": VECTORS},
    }


def test_regressor():
    found = signatures("regressor")

    value = {"value": ["float32", [-1]]}
    assert sorted(found) == [
        *("embed", "pair", "regress", "serving_default", "tokens")
    ]
    assert found["serving_default"] == {"inputs": TEXT, "outputs": value}
    assert found["regress"] == {
        "inputs": EXAMPLES,
        "outputs": {"outputs": ["float32", [-1]]},
    }


def test_pretrainer():
    found = signatures("pretrainer")

    masks = {
        "num_masks": ["int32", [-1]],
        "tokens": ["string", [-1, 8, 5]],
        "scores": ["float32", [-1, 8, 5]],
    }
    assert sorted(found) == [
        *("embed", "fill_mask", "sentence_order", "serving_default", "tokens")
    ]
    assert found["fill_mask"] == {"inputs": TEXT, "outputs": masks}
    assert found["serving_default"] == found["fill_mask"]
    assert found["sentence_order"]["inputs"] == PAIR
    assert found["sentence_order"]["outputs"]["probabilities"][1] == [-1, 2]


def test_backbone():
    found = signatures("backbone")

    assert sorted(found) == ["embed", "serving_default", "tokens"]
    assert all(s["outputs"] == VECTORS for s in found.values())


@pytest.mark.parametrize("kind", ["classifier", "pretrainer", "backbone"])
def test_what_servers_ask_of_signatures(kind):
    for signature in signatures(kind, labels=("a", "b")).values():
        for part in signature.values():
            # Rank 1 at least, the first size free; no input named `b64`.
            assert all(shape[0] == -1 for _, shape in part.values())
            assert all(size > 0 for _, s in part.values() for size in s[1:])
            assert "b64" not in part
        # A string output of such a name would be sent as base64.
        assert not any(n.endswith("_bytes") for n in signature["outputs"])


def test_small_vocabularies_have_fewer_candidates():
    task = ServedTask("pretrainer", 8, 16, vocabulary_size=3)

    assert task.signatures()["fill_mask"]["outputs"]["tokens"][1] == [-1, 8, 3]
