import numpy as np
import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server import merging


def rows(*values):
    return {"x": np.array(values)}


def test_merging_pads_with_the_last_request_s_first_row():
    merged = merging.merge([rows(1, 2), rows(3, 4)], 7)

    assert merged["x"].tolist() == [1, 2, 3, 4, 3, 3, 3]


def test_splitting_undoes_merging():
    merged = merging.merge([rows(1, 2), rows(3)], 4)

    first, second = merging.split(merged, [2, 1], 4)

    assert first["x"].tolist() == [1, 2]
    assert second["x"].tolist() == [3]


def test_cutting_and_joining():
    parts = merging.cut({"x": np.arange(7), "y": np.arange(7) * 2}, 3)

    assert [part["y"].tolist() for part in parts] == [
        *([0, 2, 4], [6, 8, 10], [12]),
    ]
    assert merging.join(parts)["x"].tolist() == list(range(7))


@pytest.mark.parametrize(
    "tensors, text",
    [
        ({"x": np.float32(1).reshape(())}, "at least one dimension"),
        ({"x": np.zeros(2), "y": np.zeros(3)}, r"equal 0th.*\[2, 3\]"),
    ],
)
def test_requests_without_common_rows(tensors, text):
    with pytest.raises(ServingError, match=f"INVALID_ARGUMENT.*{text}"):
        merging.num_rows(tensors)


@pytest.mark.parametrize("output", [np.zeros(()), np.zeros(3), np.zeros(5)])
def test_outputs_must_have_the_rows_of_the_batch(output):
    with pytest.raises(ServingError, match="FAILED_PRECONDITION"):
        merging.split({"y": output}, [2, 2], 4)


def test_rows_of_different_shape_do_not_meet():
    a, b = {"x": np.zeros((2, 3))}, {"x": np.zeros((2, 4))}

    assert merging.row_shapes(a) != merging.row_shapes(b)
    assert merging.row_shapes(a) == merging.row_shapes({"x": np.ones((9, 3))})
