import dataclasses
import json

import numpy as np
import pytest

from keras_albert.training.phases import Phase
from keras_albert.training.phases import PhaseSpan
from keras_albert.training.phases import parse_phases
from keras_albert.training.phases import phase_spans
from keras_albert.training.phases import side_by_side


def test_phases_are_read_as_written():
    assert parse_phases("128:90%, 512x8:10%") == [
        Phase(128, 0.9),
        Phase(512, 0.1, batch_size=8),
    ]
    assert parse_phases("96@2:66.5%,256:33.5%")[0] == Phase(
        96, 0.665, num_layers=2
    )
    assert parse_phases("96x4@2:100%") == [Phase(96, 1.0, 4, 2)]


@pytest.mark.parametrize("text", ["128", "128:90", "128:90%;512:10%", "x8:1%"])
def test_what_is_not_a_phase_is_shown(text):
    with pytest.raises(ValueError, match=r"LENGTH\[xBATCH\]"):
        parse_phases(text)


def test_spans_follow_each_other_to_the_last_step():
    phases = [Phase(96, 0.3), Phase(128, 0.3, 4), Phase(512, 0.4, num_layers=6)]

    spans = phase_spans(phases, 101, 32)

    assert spans == [
        PhaseSpan(0, 0, 30, 96, 32, None),
        PhaseSpan(1, 30, 61, 128, 4, None),
        PhaseSpan(2, 61, 101, 512, 32, 6),
    ]


def test_shares_must_be_the_whole_run():
    with pytest.raises(ValueError, match=r"0\.9 \+ 0\.2 = 1\.1"):
        phase_spans([Phase(128, 0.9), Phase(512, 0.2)], 100, 32)


@pytest.mark.parametrize(
    "phase, message",
    [
        (Phase(512, 0.001), "at least one step"),
        (Phase(0, 0.5), "sequence_length=0"),
        (Phase(512, 0.5, 0), "batch_size=0"),
        (Phase(512, 0.5, num_layers=0), "num_layers=0"),
    ],
)
def test_a_phase_without_work_is_refused(phase, message):
    rest = Phase(128, 1 - phase.share)
    with pytest.raises(ValueError, match=message):
        phase_spans([rest, phase], 100, 32)


@pytest.mark.parametrize("percent", ["33.3333", "33.33333"])
def test_rounded_shares_end_with_the_last_step(percent):
    phases = parse_phases(f"96:{percent}%,128:{percent}%,512:33.3334%")

    spans = phase_spans(phases, 16_000_000, 32)

    assert spans[-1].stop == 16_000_000


def test_batches_in_turn_are_read_as_written():
    assert parse_phases("96x32+128+384x8@2:100%") == [
        Phase(384, 1.0, 8, 2, alternating=((96, 32), (128, None)))
    ]


def test_steps_are_taken_in_turn():
    phases = parse_phases("96x32+384x8:60%,512:40%")

    spans = phase_spans(phases, 12, 16)

    taken = [[s.index for s in spans if s.has(step)] for step in range(12)]
    assert taken == [[0], [1]] * 3 + [[0]] + [[2]] * 5
    assert [s.num_steps for s in spans] == [4, 3, 5]
    for span in spans:
        before = [span.steps_before(step) for step in range(13)]
        counted = [sum(map(span.has, range(step))) for step in range(13)]
        assert before == counted
    assert side_by_side(spans) == [spans[:2], spans[2:]]


def test_each_shape_needs_a_step():
    with pytest.raises(ValueError, match="at least one step"):
        phase_spans(parse_phases("96+384:10%,512:90%"), 10, 32)


def test_numbers_of_numpy_become_plain_ones():
    phase = Phase(
        np.int64(16), 1.0, np.int64(4), np.int64(2), ((np.int64(8), None),)
    )

    spans = phase_spans([phase], 10, 8)

    assert [span.batch_size for span in spans] == [8, 4]
    assert json.dumps([dataclasses.asdict(span) for span in spans])
