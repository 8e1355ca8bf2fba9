"""Protocol-buffer messages from a table.

The packages with TensorFlow's own classes import all of TensorFlow, which
takes seconds and half a gigabyte. What travels are field numbers and types
alone, so that a table of these makes classes that speak the same bytes.
"""

import functools

from google.protobuf import any_pb2
from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory
from google.protobuf import wrappers_pb2

PACKAGE = "keras_albert.serving"
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "float": _Field.TYPE_FLOAT,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}
_LIBRARY = {
    "Any": any_pb2,
    "BoolValue": wrappers_pb2,
    "Int64Value": wrappers_pb2,
    "StringValue": wrappers_pb2,
}


def message_classes(table):
    """Makes the message classes of a table.

    Args:
        table: dict from the name of a message to its fields, each written as
            `"name number type"`. A type is a scalar's name, the name of a
            message of the table or of Google's library (`Any`, `Int64Value`,
            ...), and may be marked: `"[type]"` is repeated, `"{type}"` a map
            from strings, and `"type | group"` one choice of a group.

    Returns:
        Dict from name to class.

    >>> classes = message_classes({"Dim": ["size 1 int64", "name 2 string"]})
    >>> classes["Dim"](size=3).SerializeToString()
    b'\\x08\\x03'
    """
    pool = descriptor_pool.DescriptorPool()
    for module in (any_pb2, wrappers_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(
        name="keras_albert/serving.proto", package=PACKAGE, syntax="proto3"
    )
    file.dependency.extend(m.DESCRIPTOR.name for m in (any_pb2, wrappers_pb2))
    for name, fields in table.items():
        _add_message(file.message_type.add(name=name), fields)
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{PACKAGE}.{name}")
        )
        for name in table
    }


def _add_message(message, fields):
    for text in fields:
        name, number, kind = text.split(" ", 2)
        kind, _, group = kind.partition(" | ")
        field = message.field.add(name=name, number=int(number))
        field.label = _Field.LABEL_OPTIONAL
        if group:
            field.oneof_index = _group(message, group)
        if kind[0] in "[{":
            field.label = _Field.LABEL_REPEATED
        if kind[0] == "{":
            entry = _add_map_entry(message, name, kind[1:-1])
            field.type = _Field.TYPE_MESSAGE
            field.type_name = f".{PACKAGE}.{message.name}.{entry}"
        else:
            _set_type(field, kind.strip("[]"))


def _add_map_entry(message, field_name, kind):
    # The name that protocol buffers ask of the entries of a map.
    words = field_name.split("_")
    name = "".join(word.capitalize() for word in words) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, (name_, kind_) in enumerate(
        [("key", "string"), ("value", kind)], start=1
    ):
        field = entry.field.add(name=name_, number=number)
        field.label = _Field.LABEL_OPTIONAL
        _set_type(field, kind_)
    return name


def _group(message, name):
    names = [group.name for group in message.oneof_decl]
    if name not in names:
        message.oneof_decl.add(name=name)
        return len(names)
    return names.index(name)


def _set_type(field, kind):
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
        return
    field.type = _Field.TYPE_MESSAGE
    package = "google.protobuf" if kind in _LIBRARY else PACKAGE
    field.type_name = f".{package}.{kind}"


# Field numbers of TensorFlow's and TensorFlow Serving's .proto files.
TABLE = {
    # tensorflow/core
    "Dim": ["size 1 int64", "name 2 string"],
    "TensorShape": ["dim 2 [Dim]", "unknown_rank 3 bool"],
    "Tensor": [
        "dtype 1 int32",
        "tensor_shape 2 TensorShape",
        "version_number 3 int32",
        "tensor_content 4 bytes",
        "float_val 5 [float]",
        "double_val 6 [double]",
        "int_val 7 [int32]",
        "string_val 8 [bytes]",
        "int64_val 10 [int64]",
        "bool_val 11 [bool]",
        "half_val 13 [int32]",
        "uint32_val 16 [uint32]",
        "uint64_val 17 [uint64]",
    ],
    "TensorInfo": [
        "name 1 string",
        "dtype 2 int32",
        "tensor_shape 3 TensorShape",
    ],
    "SignatureDef": [
        "inputs 1 {TensorInfo}",
        "outputs 2 {TensorInfo}",
        "method_name 3 string",
    ],
    "BytesList": ["value 1 [bytes]"],
    "FloatList": ["value 1 [float]"],
    "Int64List": ["value 1 [int64]"],
    "Feature": [
        "bytes_list 1 BytesList | kind",
        "float_list 2 FloatList | kind",
        "int64_list 3 Int64List | kind",
    ],
    "Features": ["feature 1 {Feature}"],
    "Example": ["features 1 Features"],
    # tensorflow_serving/apis
    "ModelSpec": [
        "name 1 string",
        "version 2 Int64Value | version_choice",
        "version_label 4 string | version_choice",
        "signature_name 3 string",
    ],
    "PredictRequest": [
        "model_spec 1 ModelSpec",
        "inputs 2 {Tensor}",
        "output_filter 3 [string]",
    ],
    "PredictResponse": ["outputs 1 {Tensor}", "model_spec 2 ModelSpec"],
    "ExampleList": ["examples 1 [Example]"],
    "ExampleListWithContext": ["examples 1 [Example]", "context 2 Example"],
    "Input": [
        "example_list 1 ExampleList | kind",
        "example_list_with_context 2 ExampleListWithContext | kind",
    ],
    "ExamplesRequest": ["model_spec 1 ModelSpec", "input 2 Input"],
    "Class": ["label 1 string", "score 2 float"],
    "Classifications": ["classes 1 [Class]"],
    "ClassificationResult": ["classifications 1 [Classifications]"],
    "ClassificationResponse": ["result 1 ClassificationResult"],
    "Regression": ["value 1 float"],
    "RegressionResult": ["regressions 1 [Regression]"],
    "RegressionResponse": ["result 1 RegressionResult"],
    "MetadataRequest": ["model_spec 1 ModelSpec", "metadata_field 2 [string]"],
    "MetadataResponse": ["model_spec 1 ModelSpec", "metadata 2 {Any}"],
    "SignatureDefMap": ["signature_def 1 {SignatureDef}"],
    "StatusRequest": ["model_spec 1 ModelSpec"],
    "Status": ["error_code 1 int32", "error_message 2 string"],
    "VersionStatus": ["version 1 int64", "state 2 int32", "status 3 Status"],
    "StatusResponse": ["model_version_status 1 [VersionStatus]"],
    # tensorflow_serving/servables/tensorflow/session_bundle_config.proto
    "BatchingParameters": [
        "max_batch_size 1 Int64Value",
        "batch_timeout_micros 2 Int64Value",
        "max_enqueued_batches 3 Int64Value",
        "num_batch_threads 4 Int64Value",
        "thread_pool_name 5 StringValue",
        "allowed_batch_sizes 6 [int64]",
        "pad_variable_length_inputs 7 bool",
        "enable_large_batch_splitting 8 BoolValue",
        "max_execution_batch_size 9 Int64Value",
    ],
}
STATES = {
    10: "START",
    20: "LOADING",
    30: "AVAILABLE",
    40: "UNLOADING",
    50: "END",
}


@functools.cache
def messages():
    """Dict from name to class of the messages in `TABLE`."""
    return message_classes(TABLE)
