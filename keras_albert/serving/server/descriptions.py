"""Status and metadata of versions, as messages and as the JSON of these."""

from google.protobuf import json_format

from keras_albert.serving.protocol.statuses import HTTP_CODES
from keras_albert.serving.server.extra import import_serving_api

_AS_JSON = {
    "preserving_proto_field_name": True,
    "always_print_fields_with_no_presence": True,
}
_CODE_NUMBERS = {
    "OK": 0,
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "DATA_LOSS": 15,
    "UNAUTHENTICATED": 16,
}
assert set(_CODE_NUMBERS) == set(HTTP_CODES)


def code_number(code):
    """The number of a status code in messages.

    >>> code_number("NOT_FOUND")
    5
    """
    return _CODE_NUMBERS[code]


def status_message(versions):
    """Describes versions as `GET /v1/models/NAME` does.

    Args:
        versions: list of `Version`.

    Returns:
        Dict for JSON.
    """
    return {
        "model_version_status": [
            {
                "version": str(version.number),
                "state": version.state,
                "status": {
                    "error_code": version.error.code if version.error else "OK",
                    "error_message": (
                        version.error.message if version.error else ""
                    ),
                },
            }
            for version in versions
        ]
    }


def status_response(versions):
    """Describes versions as a `GetModelStatusResponse`.

    Args:
        versions: list of `Version`.

    Returns:
        The message.
    """
    api = import_serving_api("apis.get_model_status_pb2")
    response = api.GetModelStatusResponse()
    for version in versions:
        status = response.model_version_status.add(
            version=version.number,
            state=api.ModelVersionStatus.State.Value(version.state),
        )
        status.status.SetInParent()
        if version.error:
            status.status.error_code = code_number(version.error.code)
            status.status.error_message = version.error.message
    return response


def signature_map(version):
    """The signatures of a version as a `SignatureDefMap`."""
    api = import_serving_api("apis.get_model_metadata_pb2")
    signatures = api.SignatureDefMap()
    for name, message in version.model.signature_messages.items():
        signatures.signature_def[name].CopyFrom(message)
    return signatures


def metadata_message(version):
    """Describes a version as `GET /v1/models/NAME/metadata` does.

    Args:
        version: `Version` with a model.

    Returns:
        Dict for JSON.
    """
    signatures = json_format.MessageToDict(signature_map(version), **_AS_JSON)
    return {
        "model_spec": {
            "name": version.model_name,
            "signature_name": "",
            "version": str(version.number),
        },
        "metadata": {"signature_def": signatures},
    }
