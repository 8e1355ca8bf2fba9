"""Phases of a run: length, batch or depth change, the weights go on.

    "128:90%,512:10%"  ->  [Phase(128, share=0.9), Phase(512, share=0.1)]
                       ->  steps 0 … 900 … 1000

Attention costs grow with the square of the length, so most steps are made on
short sequences and the last ones teach the remaining positions. Depth costs
no weights, so the first steps may be made with fewer layer calls.
"""

import dataclasses
import re

_PHASE = re.compile(
    r"(?P<sequence_length>\d+)(?:x(?P<batch_size>\d+))?"
    r"(?:@(?P<num_layers>\d+))?:(?P<percent>\d+(?:\.\d+)?)%"
)


@dataclasses.dataclass(frozen=True)
class Phase:
    """A share of the steps, at one shape of batches.

    Args:
        sequence_length: int.
        share: float. Share of the run's steps, above 0. Defaults to `1.0`.
        batch_size: int, optional. Defaults to the run's.
        num_layers: int, optional. Layer calls; defaults to the model's.
    """

    sequence_length: int
    share: float = 1.0
    batch_size: int | None = None
    num_layers: int | None = None


@dataclasses.dataclass(frozen=True)
class PhaseSpan:
    """A phase with its place in the run: steps from `start` up to `stop`."""

    index: int
    start: int
    stop: int
    sequence_length: int
    batch_size: int
    num_layers: int | None


def parse_phases(text):
    """Reads phases as written on a command line.

    Args:
        text: string. `LENGTH[xBATCH][@LAYERS]:SHARE%`, separated by commas.

    Returns:
        List of `Phase`.

    Raises:
        ValueError: If the text is not of this form.

    Example:

    >>> parse_phases("128@3:90%,512x8:10%")[1]
    Phase(sequence_length=512, share=0.1, batch_size=8, num_layers=None)
    """
    phases = []
    for part in text.split(","):
        match = _PHASE.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                "A phase is written LENGTH[xBATCH][@LAYERS]:SHARE%. Received: "
                f"{part.strip()!r} in {text!r}. For example: "
                "128:90%,512x8:10%."
            )
        phases.append(
            Phase(
                int(match["sequence_length"]),
                float(match["percent"]) / 100,
                _optional_int(match["batch_size"]),
                _optional_int(match["num_layers"]),
            )
        )
    return phases


def _optional_int(digits):
    return None if digits is None else int(digits)


def phase_spans(phases, steps, batch_size):
    """Gives each phase its steps.

    Args:
        phases: list of `Phase`, whose shares sum to 1.
        steps: int. Steps of the whole run.
        batch_size: int. For phases without one of their own.

    Returns:
        List of `PhaseSpan`, one after the other from 0 to `steps`.

    Raises:
        ValueError: If the shares do not sum to 1, a phase would have no step,
            or a number is below 1.

    Example:

    >>> spans = phase_spans([Phase(128, 0.9), Phase(512, 0.1)], 1000, 32)
    >>> [(span.start, span.stop, span.sequence_length) for span in spans]
    [(0, 900, 128), (900, 1000, 512)]
    """
    total = sum(phase.share for phase in phases)
    if abs(total - 1) > 1e-6:
        raise ValueError(
            "The shares of all phases must sum to 100 %. Received: "
            f"{' + '.join(f'{phase.share:.4g}' for phase in phases)} = "
            f"{total:.4g}."
        )
    spans = []
    done = 0.0
    for index, phase in enumerate(phases):
        start = spans[-1].stop if spans else 0
        done += phase.share
        stop = round(done * steps)
        size = batch_size if phase.batch_size is None else phase.batch_size
        if stop <= start or min(phase.sequence_length, size) < 1:
            raise ValueError(
                "Each phase needs at least one step, one token and one "
                f"example. Received: {phase} of {steps} steps."
            )
        shape = phase.sequence_length, size, phase.num_layers
        spans.append(PhaseSpan(index, start, stop, *shape))
    return spans
