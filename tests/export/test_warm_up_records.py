"""Warm-up requests, read with the server's own message classes."""

import numpy as np
import pytest

from keras_albert.export.signature_shapes import ServedTask
from keras_albert.export.warm_up_records import RECORDS_FILE
from keras_albert.export.warm_up_records import TEXT
from keras_albert.export.warm_up_records import read_warm_up_records
from keras_albert.export.warm_up_records import text_example
from keras_albert.export.warm_up_records import write_warm_up_records

TASKS = {
    "classifier": ServedTask("classifier", 8, 16, 11, ("a", "b")),
    "regressor": ServedTask("regressor", 8, 16, 11),
    "pretrainer": ServedTask("pretrainer", 8, 16, 11),
}


def logs(folder):
    import tensorflow as tf

    messages = pytest.importorskip(
        "tensorflow_serving.apis.prediction_log_pb2",
        reason="needs the server's messages: tensorflow-serving-api",
    )
    records = tf.data.TFRecordDataset(str(folder / RECORDS_FILE))
    return [
        messages.PredictionLog.FromString(record)
        for record in records.as_numpy_iterator()
    ]


@pytest.mark.parametrize("kind", TASKS)
def test_each_signature_in_each_size(kind, tmp_path):
    signatures = TASKS[kind].signatures()

    count = write_warm_up_records(tmp_path, signatures, "reviews", (1, 3))

    found = []
    for log in logs(tmp_path):
        kind = log.WhichOneof("log_type")
        request = getattr(log, kind).request
        assert request.model_spec.name == "reviews"
        found.append((kind, request.model_spec.signature_name))
    kinds = {"classify": "classify_log", "regress": "regress_log"}
    assert found == [
        (kinds.get(name, "predict_log"), name)
        for name in sorted(signatures)
        for _ in range(2)
    ]
    assert count == len(found)


def test_tensors_fit_the_signature(tmp_path):
    import tensorflow as tf

    signatures = TASKS["classifier"].signatures()
    write_warm_up_records(tmp_path, signatures, "reviews", (3,))

    for log in logs(tmp_path):
        if log.WhichOneof("log_type") != "predict_log":
            continue
        request = log.predict_log.request
        shapes = signatures[request.model_spec.signature_name]["inputs"]
        assert set(request.inputs) == set(shapes)
        for name, (dtype, shape) in shapes.items():
            value = tf.make_ndarray(request.inputs[name])
            assert value.shape == (3, *shape[1:])
            assert (value.dtype == object) == (dtype == "string")


def test_examples_hold_the_text(tmp_path):
    write_warm_up_records(tmp_path, TASKS["classifier"].signatures(), "m", (2,))

    (log,) = [x for x in logs(tmp_path) if x.HasField("classify_log")]

    examples = log.classify_log.request.input.example_list.examples
    texts = [e.features.feature["text"].bytes_list.value[0] for e in examples]
    assert texts == [TEXT.encode()] * 2


def test_what_is_read_is_what_was_written(tmp_path):
    signatures = TASKS["regressor"].signatures()
    write_warm_up_records(tmp_path, signatures, "reviews", (1, 8))

    calls = read_warm_up_records(tmp_path)

    assert [name for name, _ in calls] == sorted([*signatures] * 2)
    for name, inputs in calls:
        assert set(inputs) == set(signatures[name]["inputs"])
        assert {len(value) for value in inputs.values()} <= {1, 8}
    np.testing.assert_array_equal(
        dict(calls)["regress"]["inputs"], [text_example(TEXT)] * 8
    )
