"""What became of each weight, for people and for programs."""

import dataclasses
import json


@dataclasses.dataclass
class ConversionReport:
    """What a conversion did.

    Attributes:
        loaded: dict from the source's name to ours, each weight once.
        skipped: dict from the source's name to why it was left out.
        kept: dict from the source's name to why it was kept aside: its head
            has no model here, and goes back where it came from.
        new: list of our names that the source lacks: randomly initialised.
        notes: list of sentences, such as a setting that was changed.
        check: dict from an output's name to its greatest difference from the
            source's, once compared.
    """

    loaded: dict = dataclasses.field(default_factory=dict)
    skipped: dict = dataclasses.field(default_factory=dict)
    kept: dict = dataclasses.field(default_factory=dict)
    new: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    check: dict = dataclasses.field(default_factory=dict)

    def to_json(self):
        """Returns the report as JSON text."""
        return json.dumps(
            dataclasses.asdict(self), indent=2, ensure_ascii=False
        )

    @property
    def new_heads(self):
        """The parts that are random: their answers mean nothing yet."""
        return list(dict.fromkeys(n.partition("/")[0] for n in self.new))

    @property
    def max_difference(self):
        """Greatest difference over all compared outputs, or `None`."""
        return max(self.check.values(), default=None)

    def rows(self):
        """Returns `(what became of it, number of weights, which)` rows."""
        return [
            ("loaded", len(self.loaded), ""),
            *_by_reason("kept aside", self.kept),
            *_by_reason("skipped", self.skipped),
            *(
                [("new, random", len(self.new), ", ".join(self.new_heads))]
                if self.new
                else []
            ),
        ]


def _by_reason(what, names):
    reasons = {}
    for name, reason in names.items():
        reasons.setdefault(reason, []).append(name)
    return [
        (what, len(members), f"{reason}: {_few(members)}")
        for reason, members in reasons.items()
    ]


def _few(names, most=3):
    shown = ", ".join(names[:most])
    return shown + (", …" if len(names) > most else "")
