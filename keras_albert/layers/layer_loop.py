"""Calling one layer many times: unrolled, as one loop body, rematerialised.

    unroll=True              a Python loop: the graph grows with the depth;
                   TF        in training, weights pass from call to call
                   torch     in training, 16-bit weights are made once
    unroll=False   JAX       one `scan` body, compiled once
                   TF        one `while_loop` body, compiled once
                   torch     a Python loop (it runs eagerly anyway)
    remat=True               activations inside a call are computed again in
                             the backward pass instead of being kept

The loop body is a pure function of the layer's variables. That is what makes
dropout right: its seed state enters and leaves each call as a value, so a
recomputed call draws the same mask and no tracer leaks out of the body.
"""

import functools

import keras
from keras import ops

from keras_albert.layers.recomputation import whole_call_recomputed


def repeat_layer(
    layer, hidden, padding_mask, training, count, unroll=True, remat=False
):
    """Returns `layer` applied `count` times to `hidden`.

    Args:
        layer: built layer, called as `layer(hidden, padding_mask=...,
            training=...)`, that keeps the shape of `hidden`.
        hidden: float tensor of shape `(batch_size, sequence_length, H)`.
        padding_mask: tensor of shape `(batch_size, sequence_length)` or
            `None`.
        training: bool or `None`.
        count: int. Number of calls.
        unroll: bool. Whether each call is a piece of graph of its own.
        remat: bool. Whether to recompute activations in the backward pass.

    Returns:
        Tensor of the shape of `hidden`.
    """
    backend = keras.backend.backend()
    # TensorFlow cannot differentiate a rematerialised while loop.
    can_loop = backend == "jax" or (backend == "tensorflow" and not remat)
    if unroll or count == 1 or not can_loop:
        if training and count > 1 and _gains_from_chain(layer):
            return _chain(layer, hidden, padding_mask, count, remat)
        for _ in range(count):
            hidden = call_layer(layer, hidden, padding_mask, training, remat)
        return hidden
    # A loop's carry must keep its dtype from the first call on.
    hidden = ops.cast(hidden, layer.compute_dtype)
    if backend == "jax":
        return _scan(layer, hidden, padding_mask, training, count, remat)
    return _while(layer, hidden, padding_mask, training, count)


def call_layer(layer, hidden, padding_mask, training, remat=False):
    """Returns one call of `layer`, rematerialised if asked.

    Args and Returns: as `repeat_layer`.
    """
    if not remat or not training:
        return layer(hidden, padding_mask=padding_mask, training=training)
    body = _recomputed_call(layer, padding_mask, training)
    trainable, state = _values(layer)
    hidden, *new_state = body(hidden, *trainable, *state)
    _assign_state(layer, new_state)
    return hidden


def _pure_call(layer, padding_mask, training):
    variables = [*layer.trainable_variables, *layer.non_trainable_variables]
    state = layer.non_trainable_variables

    def body(hidden, *values):
        # Not `layer.stateless_call`, which widens 16-bit weights first.
        with keras.StatelessScope() as scope:
            for variable, value in zip(variables, values, strict=True):
                scope.add_update((variable, value))
            hidden = layer(hidden, padding_mask=padding_mask, training=training)
            return (hidden, *map(scope.get_current_value, state))

    return body


def _recomputed_call(layer, padding_mask, training):
    body = _pure_call(layer, padding_mask, training)

    def whole(hidden, *values):
        with whole_call_recomputed():
            return body(hidden, *values)

    recomputed = keras.remat(whole)
    if keras.backend.backend() != "torch":
        return recomputed
    # PyTorch would end the second call by an exception, whose traceback keeps
    # all tensors of that call until garbage is collected.
    return functools.partial(recomputed, early_stop=False)


def _values(layer):
    return (
        # Of a 16-bit layer, cast.
        [v.value for v in layer.trainable_variables],
        # Copies: PyTorch assigns in place, and a recomputed call must start
        # from the state of the first one.
        [ops.copy(v.value) for v in layer.non_trainable_variables],
    )


def _assign_state(layer, state):
    weights = {id(variable) for variable in layer.weights}
    for variable, value in zip(
        layer.non_trainable_variables, state, strict=True
    ):
        # Frozen weights come back as they were.
        if id(variable) not in weights:
            variable.assign(value)


def _gains_from_chain(layer):
    backend = keras.backend.backend()
    is_mixed = layer.compute_dtype != layer.variable_dtype
    # XLA finds equal casts and the order of sums by itself.
    return backend == "tensorflow" or (backend == "torch" and is_mixed)


def _chain(layer, hidden, padding_mask, count, remat):
    """Unrolled calls in training, for TensorFlow and PyTorch.

    The weights are cast to 16 bit once, not anew in each call, which would
    keep a copy of them for each. Their gradients are summed in 16 bit, too: of
    24 calls in bfloat16 they lie 3.8 % from float32's, summed in float32 3.7.

    On TensorFlow each call gets its weights from the call before, not from
    the variables. So gradients are summed from the last call to the first,
    two at a time; TensorFlow would keep one of each call until it has them
    all.
    """
    make = _recomputed_call if remat else _pure_call
    body = make(layer, padding_mask, training=True)
    trainable, state = _values(layer)
    for _ in range(count):
        if keras.backend.backend() == "tensorflow":
            trainable = [ops.copy(value) for value in trainable]
        hidden, *state = body(hidden, *trainable, *state)
    _assign_state(layer, state)
    return hidden


def _scan(layer, hidden, padding_mask, training, count, remat):
    make = _recomputed_call if remat and training else _pure_call
    body = make(layer, padding_mask, training)
    trainable, state = _values(layer)

    def step(carry, _):
        hidden, state = carry
        hidden, *state = body(hidden, *trainable, *state)
        return (hidden, state), None

    (hidden, state), _ = ops.scan(step, (hidden, state), length=count)
    _assign_state(layer, state)
    return hidden


def _while(layer, hidden, padding_mask, training, count):
    def step(call, hidden):
        hidden = layer(hidden, padding_mask=padding_mask, training=training)
        return call + 1, hidden

    # XLA needs the bound to build the backward pass.
    _, hidden = ops.while_loop(
        lambda call, _: call < count,
        step,
        (0, hidden),
        maximum_iterations=count,
    )
    return hidden
