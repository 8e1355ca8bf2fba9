"""The requests that a server sends to a new version before anyone else does.

TensorFlow Serving replays `assets.extra/tf_serving_warmup_requests`, a
TFRecord file of `PredictionLog` messages, and refuses a version in which one
fails. The first run of each signature is slow; after this it has happened.

The message classes are in a package that imports all of TensorFlow Serving's
client. The few fields that are needed are written down here instead; a tensor
or an example inside them is the bytes of TensorFlow's own message.
"""

import functools
from pathlib import Path

import numpy as np

RECORDS_FILE = Path("assets.extra", "tf_serving_warmup_requests")
# Rows that servers are asked for at a time, see the bundle's batching.config.
BATCH_SIZES = (1, 8, 32)
# About as long as what people send.
TEXT = "the first request to a new model is slow, so that this one comes first"

# Message -> field -> (number, type); a type in brackets is repeated.
FIELDS = {
    "ModelSpec": {"name": (1, "string"), "signature_name": (3, "string")},
    "Entry": {"key": (1, "string"), "value": (2, "bytes")},
    "PredictRequest": {
        "model_spec": (1, "ModelSpec"),
        "inputs": (2, "[Entry]"),
    },
    "PredictLog": {"request": (1, "PredictRequest")},
    "ExampleList": {"examples": (1, "[bytes]")},
    "Input": {"example_list": (1, "ExampleList")},
    "ExamplesRequest": {
        "model_spec": (1, "ModelSpec"),
        "input": (2, "Input"),
    },
    "ExamplesLog": {"request": (1, "ExamplesRequest")},
    "PredictionLog": {
        "classify_log": (2, "ExamplesLog"),
        "regress_log": (3, "ExamplesLog"),
        "predict_log": (6, "PredictLog"),
    },
}
EXAMPLE_KINDS = {"classify": "classify_log", "regress": "regress_log"}


def write_warm_up_records(folder, signatures, name, batch_sizes=BATCH_SIZES):
    """Writes one request for each signature and batch size.

    Args:
        folder: path of a version, which holds `saved_model.pb`.
        signatures: dict as of `ServedTask.signatures`.
        name: string. The model's name.
        batch_sizes: sequence of int.

    Returns:
        The number of requests.
    """
    import tensorflow as tf

    path = Path(folder) / RECORDS_FILE
    path.parent.mkdir(exist_ok=True)
    requests = [
        _prediction_log(name, signature, shapes["inputs"], batch_size)
        for signature, shapes in sorted(signatures.items())
        for batch_size in batch_sizes
    ]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for request in requests:
            writer.write(request.SerializeToString())
    return len(requests)


def read_warm_up_records(folder):
    """Reads the requests of a version.

    Args:
        folder: path of a version.

    Returns:
        List of `(signature, inputs)`, as `call_signatures` takes them.
    """
    import tensorflow as tf

    path = Path(folder) / RECORDS_FILE
    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    return [_call(record) for record in records]


def sample_inputs(inputs, batch_size):
    """Makes inputs of a signature.

    Args:
        inputs: dict from name to `[dtype, shape]`.
        batch_size: int.

    Returns:
        Dict from name to an array with `batch_size` rows.
    """
    made = {}
    for name, (dtype, shape) in inputs.items():
        size = (batch_size, *shape[1:])
        if dtype == "string":
            made[name] = np.full(size, TEXT.encode(), object)
        else:
            made[name] = np.ones(size, dtype)
    return made


def _prediction_log(name, signature, inputs, batch_size):
    log = _messages()["PredictionLog"]()
    if signature in EXAMPLE_KINDS:
        request = getattr(log, EXAMPLE_KINDS[signature]).request
        examples = [text_example(TEXT)] * batch_size
        request.input.example_list.examples.extend(examples)
    else:
        from tensorflow import make_tensor_proto

        request = log.predict_log.request
        for key, value in sample_inputs(inputs, batch_size).items():
            tensor = make_tensor_proto(value).SerializeToString()
            request.inputs.add(key=key, value=tensor)
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    return log


def text_example(text):
    """Serializes a `tf.train.Example` that holds a text.

    Args:
        text: `str` or `bytes`.

    Returns:
        Bytes.
    """
    from tensorflow.core.example import example_pb2

    example = example_pb2.Example()
    value = text if isinstance(text, bytes) else text.encode()
    example.features.feature["text"].bytes_list.value.append(value)
    return example.SerializeToString()


def _call(record):
    from tensorflow import make_ndarray
    from tensorflow.core.framework import tensor_pb2

    log = _messages()["PredictionLog"].FromString(record)
    for field in EXAMPLE_KINDS.values():
        if log.HasField(field):
            request = getattr(log, field).request
            examples = np.empty(
                len(request.input.example_list.examples), object
            )
            examples[:] = list(request.input.example_list.examples)
            return request.model_spec.signature_name, {"inputs": examples}
    request = log.predict_log.request
    inputs = {
        entry.key: make_ndarray(tensor_pb2.TensorProto.FromString(entry.value))
        for entry in request.inputs
    }
    return request.model_spec.signature_name, inputs


@functools.cache
def _messages():
    """Makes the classes of `FIELDS`."""
    from google.protobuf import descriptor_pb2
    from google.protobuf import descriptor_pool
    from google.protobuf import message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    scalars = {"string": field_type.TYPE_STRING, "bytes": field_type.TYPE_BYTES}
    package = "keras_albert.export"
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_albert/warm_up.proto", package=package, syntax="proto3"
    )
    for message_name, fields in FIELDS.items():
        message = file.message_type.add(name=message_name)
        for name, (number, kind) in fields.items():
            field = message.field.add(name=name, number=number)
            is_list = kind.startswith("[")
            field.label = (
                field_type.LABEL_REPEATED
                if is_list
                else field_type.LABEL_OPTIONAL
            )
            kind = kind.strip("[]")
            if kind in scalars:
                field.type = scalars[kind]
            else:
                field.type = field_type.TYPE_MESSAGE
                field.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{package}.{name}")
        )
        for name in FIELDS
    }
