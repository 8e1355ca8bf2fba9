"""Arithmetic, memory and traffic of a training step, by formula.

Nothing is built and no library is needed, so that this answers at once. The
arithmetic is exact for matrix products. Memory and traffic are estimates: they
count the tensors of each layer call, and a compiler keeps some of them in
other places. What the compiler says is better, where there is one.

Shape letters: B batch, S sequence, P predictions, H hidden, F intermediate,
E embedding, V vocabulary, N heads.
"""

import dataclasses

from keras_albert.layers.layer_schedule import layer_schedule
from keras_albert.models.sizes import parameter_count

FLOAT32 = 4
# Numbers per weight besides the weight itself: both moments of LAMB and AdamW.
OPTIMIZER_SLOTS = 2
# How often a kept number crosses the memory bus in a step: written once, read
# by the next operations and by both gradients. Fitted to albert_base compiled
# for TPU v5e, 32 x 512 a core, with and without the kernel for attention.
ACTIVATION_CROSSINGS = 13.5
SCORE_CROSSINGS = 9.5


@dataclasses.dataclass(frozen=True)
class StepShape:
    """What decides the cost of a training step on one core.

    Attributes:
        arguments: dict. Arguments of `AlbertBackbone`.
        batch_size: int. Examples on the core.
        sequence_length: int.
        num_predictions: int. Masked positions of an example.
        keeps_scores: bool. Whether attention scores are arrays, and not
            inside a kernel. Defaults to `True`.
        active_layers: int, optional. Layer calls of the step, where they are
            fewer than the model's.
    """

    arguments: dict
    batch_size: int
    sequence_length: int
    num_predictions: int
    keeps_scores: bool = True
    active_layers: int | None = None

    @property
    def num_tokens(self):
        """Tokens in the batch, padding included."""
        return self.batch_size * self.sequence_length

    @property
    def num_calls(self):
        """Layer calls, inner repetitions included."""
        repeats = self.arguments.get("num_inner_repetitions", 1)
        return (self.active_layers or self.arguments["num_layers"]) * repeats

    @property
    def compute_bytes(self):
        """Size of an activation's number under the dtype policy."""
        dtype = str(self.arguments.get("dtype") or "float32")
        return 2 if dtype.endswith("float16") else FLOAT32


def num_parameters(arguments):
    """Returns the weights of an `AlbertPretrainer`, heads included.

    Args:
        arguments: dict, as for `AlbertBackbone`.

    Example:

    >>> from keras_albert.models.sizes import backbone_arguments
    >>> num_parameters(backbone_arguments("albert_base"))
    11813810
    """
    e, h, v = (
        arguments[name]
        for name in ("embedding_dim", "hidden_dim", "vocabulary_size")
    )
    schedule = layer_schedule(
        arguments.get("sharing", "all"),
        arguments["num_layers"],
        arguments.get("num_groups", 1),
        arguments.get("num_inner_repetitions", 1),
    )
    attentions, feed_forwards = (
        len(set(ids)) for ids in zip(*schedule, strict=True)
    )
    backbone = parameter_count(
        **arguments,
        distinct_attentions=attentions,
        distinct_feed_forwards=feed_forwards,
    )
    if arguments.get("use_embedding_projection") and e == h:
        backbone += e * h + h
    masked_lm_head = (h * e + e) + 2 * e + v
    sentence_order_head = 2 * h + 2
    return backbone + masked_lm_head + sentence_order_head


def step_flops(shape):
    """Returns the operations of one training step in matrix products.

    A multiply-add counts as two; backward costs twice the forward pass, and
    `remat` one more forward pass of the encoder. Normalisation, softmax and
    the optimizer are left out: one or two per cent.

    Args:
        shape: `StepShape`.
    """
    encoder, rest = _forward_flops(shape)
    passes = 4 if shape.arguments.get("remat") else 3
    return passes * encoder + 3 * rest


def useful_flops(shape):
    """Returns `step_flops` without what `remat` computes twice."""
    encoder, rest = _forward_flops(shape)
    return 3 * (encoder + rest)


def _forward_flops(shape):
    a = shape.arguments
    h, f, e = a["hidden_dim"], a["intermediate_dim"], a["embedding_dim"]
    predictions = shape.batch_size * shape.num_predictions
    attention = 4 * h * h + 2 * shape.sequence_length * h
    call = 2 * shape.num_tokens * (attention + 2 * h * f)
    projects = e != h or a.get("use_embedding_projection")
    embedding = 2 * shape.num_tokens * e * h if projects else 0
    masked_lm = 2 * predictions * (h * e + e * a["vocabulary_size"])
    pooler = 2 * shape.batch_size * (h * h + 2 * h)
    return shape.num_calls * call, embedding + masked_lm + pooler


def optimizer_slots(optimizer):
    """Returns the numbers that an optimizer keeps for each weight.

    Args:
        optimizer: dict. Arguments of `make_optimizer`.

    Example:

    >>> optimizer_slots({"name": "lamb", "ema_momentum": 0.999})
    3
    """
    averages = optimizer.get("ema_momentum") is not None
    adds_up = optimizer.get("accumulate", 1) > 1
    return OPTIMIZER_SLOTS + averages + adds_up


def state_bytes(shape, slots=OPTIMIZER_SLOTS):
    """Returns the bytes that stay from step to step: weights and optimizer.

    Args:
        shape: `StepShape`.
        slots: int. See `optimizer_slots`. Defaults to both moments.
    """
    return num_parameters(shape.arguments) * FLOAT32 * (1 + slots)


def temporary_bytes(shape):
    """Estimates the bytes a step needs besides its state.

    Gradients, the activations kept for the backward pass, and the vocabulary
    scores with their gradient.
    """
    a = shape.arguments
    kept = _activation_bytes(shape) + _attention_bytes(shape)
    if a.get("remat"):
        # The input of every call, and all of one call at a time.
        inputs = shape.num_tokens * a["hidden_dim"] * shape.compute_bytes
        kept = shape.num_calls * inputs + kept / shape.num_calls
    gradients = num_parameters(a) * FLOAT32
    return int(gradients + kept + 2 * _vocabulary_bytes(shape))


def traffic_bytes(shape, slots=OPTIMIZER_SLOTS):
    """Estimates the bytes that a step moves between memory and processor.

    Args: as `state_bytes`.
    """
    kept = ACTIVATION_CROSSINGS * _activation_bytes(shape)
    kept += SCORE_CROSSINGS * _attention_bytes(shape)
    recomputed = 4 / 3 if shape.arguments.get("remat") else 1
    # Read forward and backward, both moments read and written, once for the
    # norms of clipping and once for the trust ratio. Averages and sums of
    # gradients are read and written too.
    crossings = 10 + 2 * (slots - OPTIMIZER_SLOTS)
    weights = crossings * num_parameters(shape.arguments) * FLOAT32
    return int(recomputed * kept + weights + 4 * _vocabulary_bytes(shape))


def estimate_costs(shape, num_cores=1, slots=OPTIMIZER_SLOTS):
    """Returns by formula what the compiler would say of a step.

    Args:
        shape: `StepShape` of one core.
        num_cores: int. Those that share a batch. Defaults to `1`.
        slots: int. See `optimizer_slots`. Defaults to both moments.

    Returns:
        Dict with the fields of `plan_compile.CompiledStep` that a formula can
        give.
    """
    gradients = num_parameters(shape.arguments) * FLOAT32
    collectives = {"all-reduce": {"count": 1, "bytes": gradients}}
    return {
        "flops": step_flops(shape),
        "bytes_accessed": traffic_bytes(shape, slots),
        "argument_bytes": state_bytes(shape, slots),
        "output_bytes": 0,
        "temporary_bytes": temporary_bytes(shape),
        "code_bytes": 0,
        "collectives": collectives if num_cores > 1 else {},
    }


def _activation_bytes(shape):
    """Activations of all calls that the backward pass reads."""
    a = shape.arguments
    # Input, query, key, value, context, the sum between the blocks, and the
    # intermediate units before their activation; the rest is made again from
    # these inside other operations.
    numbers = 6 * a["hidden_dim"] + a["intermediate_dim"]
    return shape.num_calls * shape.num_tokens * numbers * shape.compute_bytes


def _attention_bytes(shape):
    """Attention weights of all calls, in float32 under every dtype policy."""
    if not shape.keeps_scores:
        return 0
    numbers = shape.arguments["num_heads"] * shape.sequence_length
    return shape.num_calls * shape.num_tokens * numbers * FLOAT32


def _vocabulary_bytes(shape):
    predictions = shape.batch_size * shape.num_predictions
    return predictions * shape.arguments["vocabulary_size"] * FLOAT32


def largest_batch(capacity, fixed_bytes, bytes_per_example):
    """Returns how many examples fit on a core, at least 0.

    Args:
        capacity: float. Bytes of the core's memory.
        fixed_bytes: float. What does not depend on the batch.
        bytes_per_example: float.

    Example:

    >>> largest_batch(capacity=1000, fixed_bytes=100, bytes_per_example=200)
    4
    """
    return max(0, int((capacity - fixed_bytes) // bytes_per_example))
