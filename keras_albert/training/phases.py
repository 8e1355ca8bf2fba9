"""Phases of a run: length, batch or depth change, the weights go on.

    "128:90%,512:10%"      ->  [Phase(128, share=0.9), Phase(512, share=0.1)]
                           ->  steps 0 … 900 … 1000
    "96x32+384x8:100%"     ->  one phase whose steps take turns: a batch of
                               short examples, a batch of long ones, …

Attention costs grow with the square of the length, so most steps are made on
short sequences and the last ones teach the remaining positions. Depth costs
no weights, so the first steps may be made with fewer layer calls. Lengths in
turn are for small budgets: what orders two segments is learnt on short ones,
many at a time, and kept in use on long ones.
"""

import dataclasses
import itertools
import re
import statistics

from keras_albert.training.setting_checks import check_counts
from keras_albert.training.setting_checks import check_numbers

_PHASE = re.compile(
    r"(?P<shapes>\d+(?:x\d+)?(?:\+\d+(?:x\d+)?)*)"
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
        alternating: tuple of `(sequence_length, batch_size)`. Other batches
            that the steps take in turn, before one of the phase's own.
            Evaluation is on those of the phase's own.
    """

    sequence_length: int
    share: float = 1.0
    batch_size: int | None = None
    num_layers: int | None = None
    alternating: tuple = ()

    def __post_init__(self):
        # Lists, as JSON has them, are welcome.
        pairs = tuple(tuple(pair) for pair in self.alternating)
        object.__setattr__(self, "alternating", pairs)


@dataclasses.dataclass(frozen=True)
class PhaseSpan:
    """Steps of a run with batches of one shape, from `start` up to `stop`.

    Of these it has every `num_turns`-th, the first after `turn` others.

    Example:

    >>> short, long = phase_spans(parse_phases("96x32+384x8:100%"), 7, 32)
    >>> short.num_steps, long.num_steps
    (4, 3)
    """

    index: int
    start: int
    stop: int
    sequence_length: int
    batch_size: int
    num_layers: int | None
    turn: int = 0
    num_turns: int = 1

    @property
    def num_steps(self):
        """How many steps are made with these batches."""
        return self.steps_before(self.stop)

    def steps_before(self, step):
        """How many of them lie before a step of the run."""
        passed = min(max(step, self.start), self.stop) - self.start
        return max(0, -((self.turn - passed) // self.num_turns))

    def has(self, step):
        """Whether the update that follows `step` is one of them."""
        is_inside = self.start <= step < self.stop
        return is_inside and (step - self.start) % self.num_turns == self.turn


def parse_phases(text):
    """Reads phases as written on a command line.

    Args:
        text: string. `LENGTH[xBATCH][+…][@LAYERS]:SHARE%`, separated by
            commas.

    Returns:
        List of `Phase`.

    Raises:
        ValueError: If the text is not of this form.

    Example:

    >>> phase = parse_phases("128@3:90%,512x8:10%")[1]
    >>> phase.sequence_length, phase.share, phase.batch_size
    (512, 0.1, 8)
    """
    phases = []
    for part in text.split(","):
        match = _PHASE.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                "A phase is written LENGTH[xBATCH][+…][@LAYERS]:SHARE%. "
                f"Received: {part.strip()!r} in {text!r}. For example: "
                "128:90%,512x8:10%, or 96x32+384x8:100% for batches in turn."
            )
        *alternating, own = map(_shape, match["shapes"].split("+"))
        phases.append(
            Phase(
                own[0],
                float(match["percent"]) / 100,
                own[1],
                _optional_int(match["num_layers"]),
                tuple(alternating),
            )
        )
    return phases


def _shape(text):
    length, _, batch_size = text.partition("x")
    return int(length), _optional_int(batch_size)


def _optional_int(digits):
    return int(digits) if digits else None


def phase_spans(phases, steps, batch_size):
    """Gives each phase its steps.

    Args:
        phases: list of `Phase`, whose shares sum to 1.
        steps: int. Steps of the whole run.
        batch_size: int. For phases without one of their own.

    Returns:
        List of `PhaseSpan`, one after the other from 0 to `steps`; those whose
        batches take turns side by side, the phase's own the last.

    Raises:
        TypeError: If they are no `Phase`, or a number is not a whole one.
        ValueError: If the shares do not sum to 1, a phase would have no step,
            or a number is below 1.

    Example:

    >>> spans = phase_spans([Phase(128, 0.9), Phase(512, 0.1)], 1000, 32)
    >>> [(span.start, span.stop, span.sequence_length) for span in spans]
    [(0, 900, 128), (900, 1000, 512)]
    """
    check_phases(phases)
    total = sum(phase.share for phase in phases)
    if abs(total - 1) > 1e-6:
        raise ValueError(
            "The shares of all phases must sum to 100 %. Received: "
            f"{' + '.join(f'{phase.share:.4g}' for phase in phases)} = "
            f"{total:.4g}."
        )
    spans = []
    done = 0.0
    for phase in phases:
        start = spans[-1].stop if spans else 0
        done += phase.share
        # Shares may lack a millionth of the whole; of many steps that is some.
        stop = steps if phase is phases[-1] else round(done * steps)
        # Plain integers, whatever was given: the settings of a run are kept.
        shapes = [
            (int(length), int(size))
            for length, size in _shapes(phase, batch_size)
        ]
        num_layers = phase.num_layers and int(phase.num_layers)
        if stop - start < len(shapes):
            raise ValueError(
                "Each phase needs at least one step for each of its lengths. "
                f"Received: {phase} of {steps} steps."
            )
        for turn, shape in enumerate(shapes):
            place = len(spans), start, stop
            spans.append(
                PhaseSpan(*place, *shape, num_layers, turn, len(shapes))
            )
    return spans


def check_phases(phases):
    """Raises an error for what is no list of phases with whole numbers.

    Args:
        phases: list of `Phase`.

    Raises:
        TypeError: If they are no `Phase`, or a number is not a whole one.
        ValueError: If a number is below 1.
    """
    if not isinstance(phases, (list, tuple)) or not all(
        isinstance(phase, Phase) for phase in phases
    ):
        raise TypeError(
            "`phases` is a string such as '128:90%,512:10%', or a list of "
            f"`Phase`. Received: {phases!r}."
        )
    for phase in phases:
        check_numbers("above 0", share=phase.share)
        check_counts(num_layers=phase.num_layers)
        for length, size in _shapes(phase, None):
            check_counts(sequence_length=length, batch_size=size)


def examples_per_step(phases, batch_size):
    """Returns how many examples a step has, on average over the run.

    Args:
        phases: list of `Phase`.
        batch_size: int. For phases without one of their own.

    Example:

    >>> examples_per_step(parse_phases("128x256:90%,512x64:10%"), 32)
    237
    """
    total = sum(
        phase.share
        * statistics.mean(size for _, size in _shapes(phase, batch_size))
        for phase in phases
    )
    return max(1, round(total))


def _shapes(phase, batch_size):
    """Lists `(sequence_length, batch_size)` of the batches that take turns."""
    shapes = [
        *phase.alternating,
        (phase.sequence_length, phase.batch_size),
    ]
    return [
        (length, batch_size if size is None else size)
        for length, size in shapes
    ]


def side_by_side(spans):
    """Returns lists of the spans that take turns, one list after the other.

    Args:
        spans: list of `PhaseSpan`.
    """
    by_start = itertools.groupby(spans, key=lambda span: span.start)
    return [list(turns) for _, turns in by_start]
