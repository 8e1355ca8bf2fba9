"""The published ALBERT sizes, as one table with sources.

What "lite" buys: the weights of one layer instead of `num_layers`, so the
file, the optimizer's slots and the gradient exchange are small. What it does
not buy: arithmetic and activations are those of an unshared model of the same
width and depth. `flops_per_token` says so in numbers.
"""

import dataclasses
import difflib

_ENGLISH = {"vocabulary_size": 30000, "embedding_dim": 128}
_CHINESE = {"vocabulary_size": 21128, "embedding_dim": 128}
_RELU = {**_CHINESE, "activation": "relu"}

GOOGLE_V2 = "google-research/albert, version 2 (no dropout in the encoder)"
GOOGLE_ZH = "google-research/albert, Chinese models (ReLU)"
BRIGHTMART = "brightmart/albert_zh"


@dataclasses.dataclass(frozen=True)
class Size:
    """One published size.

    Attributes:
        name: string. Its key in `SIZES`.
        language: string. What it was published for.
        arguments: dict. Arguments of `AlbertBackbone`.
        source: string. Where the numbers come from.
    """

    name: str
    language: str
    arguments: dict
    source: str


def _size(name, language, source, common, num_layers, hidden_dim, num_heads):
    return Size(
        name=name,
        language=language,
        source=source,
        arguments={
            **common,
            "num_layers": num_layers,
            "hidden_dim": hidden_dim,
            "num_heads": num_heads,
            # The feed-forward block is four times as wide in all of them.
            "intermediate_dim": 4 * hidden_dim,
        },
    )


_TABLE = [
    _size("albert_base", "English", GOOGLE_V2, _ENGLISH, 12, 768, 12),
    _size("albert_large", "English", GOOGLE_V2, _ENGLISH, 24, 1024, 16),
    _size("albert_xlarge", "English", GOOGLE_V2, _ENGLISH, 24, 2048, 16),
    _size("albert_xxlarge", "English", GOOGLE_V2, _ENGLISH, 12, 4096, 64),
    _size("albert_tiny_zh", "Chinese", BRIGHTMART, _CHINESE, 4, 312, 12),
    _size("albert_small_zh", "Chinese", BRIGHTMART, _CHINESE, 6, 384, 12),
    _size("albert_base_zh", "Chinese", GOOGLE_ZH, _RELU, 12, 768, 12),
    _size("albert_large_zh", "Chinese", GOOGLE_ZH, _RELU, 24, 1024, 16),
    _size("albert_xlarge_zh", "Chinese", GOOGLE_ZH, _RELU, 24, 2048, 16),
    # 16 heads, where the English one has 64: its authors found 16 better.
    _size("albert_xxlarge_zh", "Chinese", GOOGLE_ZH, _RELU, 12, 4096, 16),
]

SIZES = {size.name: size for size in _TABLE}


def backbone_arguments(name):
    """Returns the arguments of `AlbertBackbone` for a published size.

    Args:
        name: string. A key of `SIZES`.

    Raises:
        ValueError: for an unknown name; near names are proposed.
    """
    if name not in SIZES:
        near = difflib.get_close_matches(str(name), SIZES, n=3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise ValueError(
            f"There is no published size {name!r}. {hint}"
            f"Known sizes: {', '.join(SIZES)}."
        )
    return dict(SIZES[name].arguments)


def parameter_count(
    vocabulary_size,
    num_layers,
    embedding_dim,
    hidden_dim,
    intermediate_dim,
    max_sequence_length=512,
    num_segments=2,
    distinct_attentions=1,
    distinct_feed_forwards=1,
    **_,
):
    """Returns the number of weights of a backbone, without building it.

    Args:
        vocabulary_size, ..., num_segments: ints, as in `AlbertBackbone`.
        distinct_attentions: int. Attention blocks with weights of their own;
            1 when all calls share.
        distinct_feed_forwards: int. Likewise.

    Returns:
        Int. Embeddings, projection, distinct blocks and pooler; no heads.
    """
    e, h, f = embedding_dim, hidden_dim, intermediate_dim
    tables = (vocabulary_size + max_sequence_length + num_segments) * e
    projection = 0 if e == h else _dense(e, h)
    attention = 4 * _dense(h, h) + 2 * h
    feed_forward = _dense(h, f) + _dense(f, h) + 2 * h
    return (
        tables
        + 2 * e
        + projection
        + distinct_attentions * attention
        + distinct_feed_forwards * feed_forward
        + _dense(h, h)
    )


def flops_per_token(
    num_layers,
    embedding_dim,
    hidden_dim,
    intermediate_dim,
    sequence_length=512,
    num_inner_repetitions=1,
    **_,
):
    """Returns the floating-point operations of one token's forward pass.

    A multiply-add counts as two operations. The sharing policy does not
    appear: every call is computed, whoever owns its weights. A training step
    costs about three times as much.

    Args:
        num_layers, ..., intermediate_dim: ints, as in `AlbertBackbone`.
        sequence_length: int. Number of tokens attended to. Defaults to `512`.
        num_inner_repetitions: int. Defaults to 1.

    Returns:
        Int. Encoder only; normalisation and the heads are left out.
    """
    e, h, f = embedding_dim, hidden_dim, intermediate_dim
    projections = 4 * h * h
    scores_and_mix = 2 * sequence_length * h
    feed_forward = 2 * h * f
    one_call = 2 * (projections + scores_and_mix + feed_forward)
    projection = 0 if e == h else 2 * e * h
    return num_layers * num_inner_repetitions * one_call + projection


def _dense(inputs, outputs):
    return inputs * outputs + outputs
