"""Backward passes that keep a function's inputs and nothing in between.

    TensorFlow, JAX   what lies between input and output is computed again
    PyTorch           its own functions are fused and keep only inputs

Differentiated step by step, GELU keeps four tensors as large as its input,
a normalisation three and an attention four, in each of the calls of a layer.
All are cheap beside the matrix products.
"""

import contextlib
import contextvars

import keras
from keras import ops

_WHOLE_CALL = contextvars.ContextVar("keras_albert_whole_call", default=False)


@contextlib.contextmanager
def whole_call_recomputed():
    """Within it, a layer keeps nothing, since its whole call is made again.

    PyTorch keeps what a function with a gradient of its own closes over, even
    so. It has to be differentiated step by step there.
    """
    token = _WHOLE_CALL.set(True)
    try:
        yield
    finally:
        _WHOLE_CALL.reset(token)


def is_in_whole_call():
    """Whether the present call of a layer is made again as a whole."""
    return _WHOLE_CALL.get()


def is_recomputed_whole():
    """Whether PyTorch makes the present call of a layer again as a whole."""
    return keras.backend.backend() == "torch" and is_in_whole_call()


def recomputed(function, gradient):
    """Returns `function` with a backward pass of its own.

    Args:
        function: function from tensors to one tensor.
        gradient: function from the gradient of the output and the tensors to
            their gradients: one tensor for one tensor, or else a tuple.

    Returns:
        Function like `function`. On PyTorch, `function` itself. On JAX it
        has no forward-mode derivative.
    """
    if keras.backend.backend() == "torch":
        return function

    @ops.custom_gradient
    def call(*tensors):
        # Keras hands the gradient over by position.
        def backward(upstream):
            return gradient(upstream, *_not_before(upstream, tensors))

        return function(*tensors), backward

    return call


def _not_before(upstream, tensors):
    """Returns the tensors, so that nothing is made of them before `upstream`.

    XLA sees forward and backward pass as one program. It would compute what
    the gradient needs along with the forward pass, and keep that, too.
    """
    if keras.backend.backend() != "jax":
        return tensors
    # Not folded by the compiler, since 0 * inf is not 0. Row by row, so that
    # no device asks another.
    zero = 0.0 * upstream[..., :1]
    rows = upstream.shape[:-1]
    return [
        x + ops.cast(zero, x.dtype) if x.shape[:-1] == rows else x
        for x in tensors
    ]


def with_derivative(function, derivative):
    """Returns an elementwise function that keeps only its input.

    Args:
        function: function from a tensor to a tensor of the same shape.
        derivative: function from the same tensor to the derivative.

    Returns:
        Function like `function`, see `recomputed`.
    """
    return recomputed(function, lambda upstream, x: upstream * derivative(x))
