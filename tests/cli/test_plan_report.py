import dataclasses
import io

import pytest
from rich.console import Console

from keras_albert.cli import plan_report
from keras_albert.cli.plan_report import binary
from keras_albert.cli.plan_report import si
from keras_albert.cli.plan_report import time
from keras_albert.training.plan import plan


@pytest.fixture(scope="module")
def four_phases():
    return plan(
        size="albert_base",
        phases="128x512@3:40%,128x512@6:30%,128x512:20%,512x4096:10%",
        steps=1000,
        topology="v5e:2x2",
        price_per_core_hour=1.2,
        compiled=False,
    )


def printed(made, width=80):
    stream = io.StringIO()
    plan_report.print_plan(
        made, Console(file=stream, width=width, highlight=False)
    )
    return stream.getvalue()


def test_four_phases_stand_side_by_side_in_80_columns(four_phases):
    text = printed(four_phases)

    rows = [line.split("  ") for line in text.splitlines()]
    cells = {
        row[1].strip(): [cell.strip() for cell in row[2:] if cell.strip()]
        for row in rows
        if len(row) > 2
    }
    assert cells["updates"] == ["400", "300", "200", "100"]
    assert cells["layer calls"] == ["3", "6", "12", "12"]
    assert cells["tokens × examples"][0] == "128 × 512"
    # Nothing is cut, and nothing runs into a second line.
    assert "…" not in text
    assert len({len(values) for values in cells.values() if values}) == 1


def test_batches_in_turn_are_called_so():
    made = plan(phases="96x32+128x24:50%,128x24:50%", steps=100, compiled=False)

    assert [phase.steps for phase in made.phases] == [25, 25, 50]
    (line,) = [x for x in printed(made).splitlines() if "takes turns" in x]
    assert " ".join(line.split()) == "takes turns 1 in 2 1 in 2 no"


def test_the_verdict_names_phases(four_phases):
    text = printed(four_phases)

    assert "Phase 4 does not fit into 15.68 GiB. Take batches of " in text
    assert "Phase 1 does not fit" not in text
    assert "Phase 4 is the tightest: " in text
    assert "The whole run: 1,000 updates in " in text
    assert f"for {four_phases.run_price:,.2f}." in text


def test_a_refusal_is_quoted_and_its_figures_called_estimates(four_phases):
    *others, last = four_phases.phases
    refused = dataclasses.replace(last, does_not_fit="17.41G exceed 15.75G.")
    made = dataclasses.replace(four_phases, phases=(*others, refused))

    text = printed(made)
    assert (
        "Phase 4 is refused by the compiler, so that these figures of it are "
        "by formula: 17.41G exceed 15.75G."
    ) in text


def test_times_are_called_what_they_are(four_phases):
    half = dataclasses.replace(four_phases, efficiency=0.5)

    assert "Times are the shortest possible" in printed(four_phases)
    assert "Times are at 50 % of what the machine can do" in printed(half)
    assert "shortest possible" not in printed(half)


def test_more_phases_make_more_tables():
    made = plan(
        size="albert_base",
        phases="128@2:20%,128@3:20%,128@4:20%,128@6:20%,128:20%",
        steps=1000,
        topology="v5e:1x1",
        compiled=False,
    )

    text = printed(made)
    assert text.count("layer calls") == 2
    assert "phase 5" in text


def test_one_phase_needs_no_number():
    made = plan(
        size="albert_base",
        dtype="mixed_bfloat16",
        remat=True,
        batch_size=65536,
        ema_momentum=0.99,
        accumulate=2,
        topology="v5e:1x1",
        compiled=False,
    )

    text = printed(made)
    assert "phase" not in text.lower()
    assert "layer calls" not in text
    # One core has nobody to talk to.
    assert "network" not in text
    assert "lamb, mixed_bfloat16, averaged weights, remat, batches in 2" in text
    # Only what is not done yet is advised.
    advice = text[text.index("It does not fit") :].splitlines()[0]
    assert "--accumulate" in advice
    assert "--remat" not in advice
    assert "--dtype" not in advice


@pytest.mark.parametrize(
    "value, text",
    [
        (0.00035, "350 µs"),
        (0.0551, "55.1 ms"),
        (0.00099999, "1 ms"),
        (0.9999, "1 s"),
        (90, "90 s"),
        (600, "10 min"),
        (93784, "26.1 h"),
        (864000, "10.0 days"),
    ],
)
def test_times(value, text):
    assert time(value) == text


def test_sizes():
    assert si(9.4e12, "FLOP") == "9.4 TFLOP"
    assert si(12, "B") == "12 B"
    assert si(999_700, "B") == "1 MB"
    assert si(5e21, "B") == "5,000 EB"
    assert binary(3 * 2**29) == "1.50 GiB"
    assert binary(2**19) == "0.5 MiB"
    assert binary(2**30 - 1) == "1.00 GiB"
