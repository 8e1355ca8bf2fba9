"""What a compiled program sends between cores, read from its text."""

import math
import re

COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
)
_INSTRUCTION = re.compile(
    r"= (?P<result>\(.*?\)|\S+) "
    rf"(?P<kind>{'|'.join(COLLECTIVES)})(?P<start>-start)?\("
)
_LAYOUT = re.compile(r"\{[^}]*\}")
_ARRAY = re.compile(r"\b(pred|[a-z]+\d+)(?:e\d+m\d+\w*)?\[([\d,]*)\]")


def count_collectives(text):
    """Counts the collective operations of a compiled program.

    Args:
        text: string. The program, as `compiled.as_text()`.

    Returns:
        Dict from the kind, such as `"all-reduce"`, to `{"count": int,
        "bytes": int}`: operations, and the bytes of their results on one
        core. Kinds that do not occur are left out.

    Example:

    >>> count_collectives("%sum = f32[2,3]{1,0} all-reduce(%x), channel_id=1")
    {'all-reduce': {'count': 1, 'bytes': 24}}
    """
    found = {}
    for line in text.splitlines():
        match = _INSTRUCTION.search(_LAYOUT.sub("", line))
        if match is None:
            continue
        sizes = array_bytes(match["result"])
        # A started operation names its operands too; an all-reduce does not.
        if match["start"] and match["kind"] != "all-reduce":
            sizes = sizes[1:2]
        entry = found.setdefault(match["kind"], {"count": 0, "bytes": 0})
        entry["count"] += 1
        entry["bytes"] += sum(sizes)
    return found


def array_bytes(text):
    """Lists the bytes of each array in a type such as `(f32[2], s32[])`.

    >>> array_bytes("(f32[2,3], bf16[4], pred[])")
    [24, 8, 1]
    """
    return [
        math.ceil(_bits(dtype) / 8 * math.prod(map(int, filter(None, sizes))))
        for dtype, dims in _ARRAY.findall(text)
        for sizes in [dims.split(",")]
    ]


def _bits(dtype):
    return 8 if dtype == "pred" else int(re.search(r"\d+", dtype).group())
