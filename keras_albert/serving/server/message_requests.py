"""Request messages -> calls on a model."""

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid
from keras_albert.serving.protocol.tensor_messages import read_tensor
from keras_albert.serving.server.calls import classify_call
from keras_albert.serving.server.calls import grpc_signature
from keras_albert.serving.server.calls import predict_call
from keras_albert.serving.server.calls import regress_call
from keras_albert.serving.server.calls import with_context

_EXAMPLE_CALLS = {"classify": classify_call, "regress": regress_call}


def predict_request_call(model, request):
    """Prepares a `PredictRequest` message.

    Args:
        model: `LoadedModel`.
        request: `PredictRequest`.

    Returns:
        `Call`.

    Raises:
        ServingError: FAILED_PRECONDITION or INVALID_ARGUMENT.
    """
    signature = grpc_signature(model, request.model_spec.signature_name)
    try:
        tensors = {n: read_tensor(t) for n, t in request.inputs.items()}
    except ValueError as error:
        raise invalid(str(error)) from error
    tensors = {**signature.defaults, **tensors}
    return predict_call(signature, tensors, request.output_filter)


def examples_request_call(method, model, request):
    """Prepares a `ClassificationRequest` or `RegressionRequest` message.

    Args:
        method: `"classify"` or `"regress"`.
        model: `LoadedModel`.
        request: the message.

    Returns:
        `Call`.

    Raises:
        ServingError: FAILED_PRECONDITION or INVALID_ARGUMENT.
    """
    make = _EXAMPLE_CALLS[method]
    examples = input_examples(request.input)
    return make(model, request.model_spec.signature_name, examples)


def multi_inference_calls(model, request):
    """Prepares a `MultiInferenceRequest` message.

    Args:
        model: `LoadedModel`.
        request: the message.

    Returns:
        List of `Call`, one per task.

    Raises:
        ServingError: FAILED_PRECONDITION, INVALID_ARGUMENT or UNIMPLEMENTED.
    """
    examples = input_examples(request.input)
    calls = []
    for task in request.tasks:
        method = task.method_name.rpartition("/")[2]
        if method not in _EXAMPLE_CALLS:
            raise ServingError(
                "UNIMPLEMENTED",
                f"Unsupported signature method_name: {task.method_name}",
            )
        make = _EXAMPLE_CALLS[method]
        calls.append(make(model, task.model_spec.signature_name, examples))
    return calls


def input_examples(message):
    """Serializes the examples of an `Input` message.

    Args:
        message: `Input`.

    Returns:
        List of bytes.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        return []
    examples = getattr(message, kind)
    context = None
    if kind == "example_list_with_context":
        context = examples.context
    return with_context(examples.examples, context)
