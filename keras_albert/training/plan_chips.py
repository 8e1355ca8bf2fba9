"""TPU chips as documented, and the names of their topologies.

A topology is written `CHIP:SHAPE`, such as `v5e:2x2` or `v5p:2x2x4`; the
shape counts chips. What JAX and the reports here call a core is a whole chip
from v4 to v6e, and half of one on v2, v3 and TPU7x.
"""

import dataclasses
import difflib
import math
import re

GIB = 2**30
_DOCS = "docs.cloud.google.com/tpu/docs"
_CACM = "Jouppi et al., CACM 63(7), 2020"
_ISCA = "Jouppi et al., ISCA 2023"


@dataclasses.dataclass(frozen=True)
class Chip:
    """Documented figures of one chip.

    Attributes:
        name: string. As topologies are named after it.
        cores: int. JAX devices of a chip.
        num_dimensions: int. Of a topology's shape.
        peak_flops: float. Bfloat16 operations a second, all cores. JAX's
            default precision multiplies float32 matrices in bfloat16 too.
        memory_bytes: int. High-bandwidth memory, all cores.
        memory_bandwidth: float. Bytes a second, all cores.
        link_bandwidth: float. Bytes a second out of the chip to its
            neighbours, over all links: half of the "bidirectional" figure.
        source: string. Where the figures are published.
        topology_options: dict. What the compiler must be told besides.
    """

    name: str
    cores: int
    num_dimensions: int
    peak_flops: float
    memory_bytes: int
    memory_bandwidth: float
    link_bandwidth: float
    source: str
    topology_options: dict = dataclasses.field(default_factory=dict)


CHIPS = {
    chip.name: chip
    for chip in (
        Chip("v2", 2, 2, 46e12, 16 * GIB, 700e9, 248e9, _CACM),
        Chip("v3", 2, 2, 123e12, 32 * GIB, 900e9, 328e9, _CACM),
        Chip(
            "v4",
            1,
            3,
            275e12,
            32 * GIB,
            1200e9,
            300e9,
            f"{_DOCS}/v4; {_ISCA}",
            # Both halves of a v4 chip act as one device, as on real machines.
            {"chip_config_name": "megacore"},
        ),
        Chip("v5e", 1, 2, 197e12, 16 * GIB, 819e9, 200e9, f"{_DOCS}/v5e"),
        Chip("v5p", 1, 3, 459e12, 95 * GIB, 2765e9, 600e9, f"{_DOCS}/v5p"),
        Chip("v6e", 1, 2, 918e12, 32 * GIB, 1600e9, 400e9, f"{_DOCS}/v6e"),
        Chip(
            "tpu7x", 2, 3, 2307e12, 192 * GIB, 7380e9, 600e9, f"{_DOCS}/tpu7x"
        ),
    )
}

# Names that the same chips have elsewhere.
_ALIASES = {
    "v5litepod": "v5e",
    "v5lite": "v5e",
    "trillium": "v6e",
    "v7x": "tpu7x",
    "ironwood": "tpu7x",
}


@dataclasses.dataclass(frozen=True)
class Topology:
    """A number of connected chips of one kind.

    Attributes:
        chip: `Chip`.
        shape: tuple of ints. Chips along each dimension.
    """

    chip: Chip
    shape: tuple

    @property
    def name(self):
        """The name as the compiler wants it."""
        return f"{self.chip.name}:{'x'.join(map(str, self.shape))}"

    @property
    def num_cores(self):
        """JAX devices of all chips."""
        return math.prod(self.shape) * self.chip.cores


def parse_topology(text):
    """Reads the name of a topology.

    Args:
        text: string. `CHIP:SHAPE`.

    Raises:
        ValueError: If the chip is unknown, or the shape has another number of
            dimensions than the chip's network or an odd length above 1.

    Example:

    >>> topology = parse_topology("v5e:2x2")
    >>> topology.num_cores, topology.chip.peak_flops
    (4, 197000000000000.0)
    """
    name, _, shape = str(text).partition(":")
    name = _ALIASES.get(name.lower(), name.lower())
    if name not in CHIPS:
        near = difflib.get_close_matches(name, CHIPS, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise ValueError(
            f"There is no TPU chip {name!r}. {hint}Known chips: "
            f"{', '.join(CHIPS)}. A topology is written CHIP:SHAPE, such as "
            "v5e:2x2."
        )
    chip = CHIPS[name]
    example = "x".join(["2", "2", "1"][: chip.num_dimensions])
    if not re.fullmatch(r"\d+(x\d+)*", shape):
        raise ValueError(
            f"The topology {text!r} has no shape. Write the chips along each "
            f"dimension, such as {name}:{example}."
        )
    sides = tuple(int(side) for side in shape.split("x"))
    fits = len(sides) == chip.num_dimensions
    if not fits or any(side < 1 or (side > 1 and side % 2) for side in sides):
        raise ValueError(
            f"A {name} topology has {chip.num_dimensions} dimensions of 1 or "
            f"an even number of chips each, such as {name}:{example}. "
            f"Received: {text!r}."
        )
    return Topology(chip, sides)
