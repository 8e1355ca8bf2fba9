"""A chain of elementwise operations as one loop, on TensorFlow's CPUs.

TensorFlow goes through memory once for each operation. XLA makes one loop of
them, as it does on JAX, and computes 16-bit numbers in float32 in between: the
backward pass of GELU over 3 million of them takes 2.5 ms of a processor for
15. PyTorch has such functions of its own. XLA's sums along an axis are slower
than TensorFlow's; normalisation and softmax gained nothing.
"""

import functools

import keras
from keras import ops

# Starting a compiled loop takes as long as some ten thousand numbers.
NARROWEST = 256


def in_one_pass(function, width):
    """Returns an elementwise function, compiled where that is of use.

    On TensorFlow's CPUs it is compiled, once for each shape that comes, which
    takes a tenth of a second. Elsewhere it is `function` itself. Not for what
    is exported: a server may lack the compiler.

    Args:
        function: function from tensors of one shape and dtype to one tensor or
            a tuple of tensors of the same.
        width: int. Size of the last axis.

    Returns:
        Function like `function`. Compiled, it rounds its results alone.
    """
    if width < NARROWEST or not _is_compiled():
        return function
    return _compiled(function)


@functools.cache
def _compiled(function):
    import tensorflow as tf

    @functools.partial(tf.function, jit_compile=True)
    def one_loop(*tensors):
        dtype = tensors[0].dtype
        wide = keras.backend.result_type(dtype, "float32")
        results = function(*(ops.cast(x, wide) for x in tensors))
        return keras.tree.map_structure(lambda x: ops.cast(x, dtype), results)

    return one_loop


def _is_compiled():
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    # For accelerators Keras compiles the whole step.
    return not any(map(tf.config.list_logical_devices, ("GPU", "TPU")))
