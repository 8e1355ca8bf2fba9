"""The records are written with TensorFlow Serving's own messages."""

import os
import shutil

import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.models.loaded_model import LoadedModel
from keras_albert.serving.server.models.warm_up import FILE
from keras_albert.serving.server.models.warm_up import warm_up


@pytest.fixture(scope="module")
def model(models_config, tmp_path_factory):
    """`half`, from a folder whose records the tests write."""
    folder = tmp_path_factory.mktemp("warm") / "1"
    shutil.copytree(models_config.parent / "half" / "1", folder)
    os.makedirs(folder / FILE.parent)
    model = LoadedModel(folder)
    yield model
    model.close()


def write(model, *records):
    path = str(model.folder / FILE)
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            data = (
                record
                if isinstance(record, bytes)
                else record.SerializeToString()
            )
            writer.write(data)


def predict_log(signature="", values=(1.0,)):
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.signature_name = signature
    request.inputs["x"].CopyFrom(
        tf.make_tensor_proto(list(values), dtype="float32")
    )
    return log


def examples_log(kind, signature):
    log = prediction_log_pb2.PredictionLog()
    request = getattr(log, kind).request
    example = request.input.example_list.examples.add()
    example.features.feature["text"].bytes_list.value.append(b"a")
    if kind == "multi_inference_log":
        task = request.tasks.add(method_name="tensorflow/serving/classify")
        task.model_spec.signature_name = signature
    else:
        request.model_spec.signature_name = signature
    return log


def test_all_kinds_of_records_are_replayed(model):
    ran = []
    inner = model.run
    model.run = lambda s, t, o: ran.append(s.name) or inner(s, t, o)
    write(
        model,
        predict_log(),
        predict_log("floats", [1.0] * 8),
        examples_log("classify_log", "classify"),
        examples_log("regress_log", "regress"),
        examples_log("multi_inference_log", "classify"),
    )

    assert warm_up(model) == 5
    assert ran == [
        *("serving_default", "floats", "classify", "regress", "classify"),
    ]
    model.run = inner


def test_no_records(model):
    write(model)
    assert warm_up(model) == 0
    (model.folder / FILE).unlink()
    assert warm_up(model) == 0


@pytest.mark.parametrize(
    "records, error",
    [
        ([predict_log(), predict_log("none")], 'record 2.*"none" not found'),
        ([b"\xff\xff"], "record 1.*no PredictionLog"),
        ([prediction_log_pb2.PredictionLog()], "UNIMPLEMENTED.*record 1"),
        ([examples_log("regress_log", "classify")], "cannot regress"),
    ],
)
def test_a_record_that_fails(model, records, error):
    write(model, *records)

    with pytest.raises(ServingError, match=error):
        warm_up(model)


def test_too_many_records(model):
    write(model, *[predict_log()] * 1001)

    with pytest.raises(ServingError, match="record 1001.*more than 1000"):
        warm_up(model)


def test_a_damaged_file(model):
    write(model, predict_log(), predict_log())
    path = model.folder / FILE
    path.write_bytes(path.read_bytes()[:-3])

    with pytest.raises(ServingError, match="DATA_LOSS.*record 2"):
        warm_up(model)
