import pytest

from keras_albert.export.signature_shapes import ServedTask
from keras_albert.export.token_signature import token_signature
from keras_albert.export.token_signature import with_sizes


def task(kind):
    return ServedTask(kind, 8, 16, 11, labels=("a", "b", "c"))


@pytest.mark.parametrize(
    "kind, outputs",
    [
        ("classifier", {"probabilities": ["batch", 3]}),
        ("regressor", {"value": ["batch"]}),
        (
            "pretrainer",
            {
                "masked_lm": ["batch", "masks", 11],
                "sentence_order": ["batch", 2],
            },
        ),
        (
            "backbone",
            {
                "sequence_output": ["batch", "length", 8],
                "pooled": ["batch", 8],
                "mean_pooled": ["batch", 8],
            },
        ),
    ],
)
def test_outputs(kind, outputs):
    found = token_signature(task(kind))["outputs"]

    assert found == {name: ["float32", x] for name, x in outputs.items()}


@pytest.mark.parametrize("kind", ["classifier", "pretrainer"])
def test_inputs(kind):
    found = token_signature(task(kind))["inputs"]

    ids = ["int32", ["batch", "length"]]
    assert found.pop("mask_positions", None) == (
        ["int32", ["batch", "masks"]] if kind == "pretrainer" else None
    )
    assert found == dict.fromkeys(
        ("token_ids", "segment_ids", "padding_mask"), ids
    )


def test_sizes():
    shape = ["batch", "length", "masks", 8]

    assert with_sizes(shape, {"batch": 1, "length": None}) == [
        *(1, None, "masks", 8)
    ]
