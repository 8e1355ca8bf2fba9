"""How a plan is shown: the run, a column for each phase, and a verdict."""

import json

from keras_albert.cli import show

# Columns of a table; more phases make more tables.
PHASES_A_TABLE = 4


def print_json(made):
    """Prints all figures as one JSON object."""
    print(json.dumps(made.to_dict(), indent=2))


def print_plan(made, console):
    """Prints the figures as tables, and what they mean.

    Args:
        made: `training.Plan`.
        console: `rich.console.Console`.
    """
    for line in about_the_run(made):
        console.print(line, soft_wrap=True, markup=False)
    for table in tables(made):
        console.print(table)
    for line in verdict(made):
        console.print(line, soft_wrap=True, markup=False)


def about_the_run(made):
    """Lists what all phases share, in lines."""
    machine, settings = made.machine, made.settings
    cores = "1 core" if machine.num_cores == 1 else f"{machine.num_cores} cores"
    yield (
        f"Machine: {machine.name}, {cores} of "
        f"{si(machine.peak_flops, 'FLOP/s')}, {binary(machine.memory_bytes)}, "
        f"{si(machine.memory_bandwidth, 'B/s')} ({machine.source})"
    )
    words = [
        f"{show.number(made.num_parameters)} weights",
        settings["optimizer.name"],
        str(settings.get("model.dtype") or "float32"),
    ]
    if settings["optimizer.ema_momentum"] is not None:
        words.append("averaged weights")
    if settings.get("model.remat"):
        words.append("remat")
    if made.accumulate > 1:
        words.append(f"batches in {made.accumulate} parts")
    yield f"Run:     {', '.join(words)}"


def tables(made):
    """Lists the tables: one, or more where columns are many."""
    for first in range(0, len(made.phases), PHASES_A_TABLE):
        phases = made.phases[first : first + PHASES_A_TABLE]
        titles = [f"phase {first + 1 + index}" for index in range(len(phases))]
        if len(made.phases) == 1:
            titles = ["plan"]
        columns = [dict(rows(made, phase)) for phase in phases]
        names = columns[0]
        yield show.table(
            None,
            ("", *titles),
            [(name, *(column[name] for column in columns)) for name in names],
        )


def rows(made, phase):
    """Lists names and values of a phase; the names of all phases are alike."""
    yield "updates", show.number(phase.steps)
    if any(each.num_turns > 1 for each in made.phases):
        turns = f"1 in {phase.num_turns}" if phase.num_turns > 1 else "no"
        yield "takes turns", turns
    yield "tokens × examples", f"{phase.sequence_length} × {phase.batch_size}"
    if len({each.num_layers for each in made.phases}) > 1:
        yield "layer calls", str(phase.num_layers)
    yield "at once on a core", show.number(phase.batch_per_core)
    yield "memory of a core", binary(phase.memory["total"])
    for part in ("state", "temporary", "code"):
        if any(each.memory[part] for each in made.phases):
            yield f"  {part}", binary(phase.memory[part])
    about = "" if phase.largest_batch_is_compiled else "about "
    yield "largest batch", f"{about}{show.number(phase.largest_batch)}"
    yield "step's arithmetic", si(phase.flops, "FLOP")
    yield "  memory traffic", si(phase.bytes_accessed, "B")
    for kind in kinds(made):
        sent = phase.collectives.get(kind, {"bytes": 0})["bytes"]
        yield f"  {kind}", si(sent, "B")
    yield "shortest time", time(max(phase.seconds.values()))
    for name, seconds in phase.seconds.items():
        if any(each.seconds[name] for each in made.phases):
            yield f"  for {name}", time(seconds)
    yield "an update", time(phase.update_seconds)
    yield "all updates", time(phase.run_seconds)
    if phase.run_price is not None:
        yield "  price", money(phase.run_price)
    if phase.epoch_seconds is not None:
        yield "an epoch", time(phase.epoch_seconds)
        if phase.epoch_price is not None:
            yield "  its price", money(phase.epoch_price)


def kinds(made):
    """Lists the kinds of collectives of all phases, in order."""
    return list(dict.fromkeys(k for p in made.phases for k in p.collectives))


def verdict(made):
    """Lists what the figures mean, in sentences."""
    several = len(made.phases) > 1
    capacity = binary(made.machine.memory_bytes)
    for index, phase in enumerate(made.phases):
        name = f"Phase {index + 1}" if several else "It"
        if phase.does_not_fit:
            yield (
                f"{name} is refused by the compiler, so that these figures of "
                f"it are by formula: {phase.does_not_fit}"
            )
        if not phase.fits:
            yield f"{name} does not fit into {capacity}. {advice(made, phase)}"
    if several:
        phase = made.phases[made.tightest_phase]
        yield (
            f"Phase {made.tightest_phase + 1} is the tightest: "
            f"{binary(phase.memory['total'])} of {capacity}."
        )
    if made.why_estimated:
        yield (
            "Estimated by formula, not compiled; memory and bytes may be off "
            "by a third, on CPUs by a factor of three. Reason: "
            f"{made.why_estimated}."
        )
    price = "" if made.run_price is None else f" for {money(made.run_price)}"
    yield (
        f"The whole run: {show.number(made.steps)} updates in "
        f"{time(made.run_seconds)}{price}. {pace(made)} {truth(made)}"
    )


def advice(made, phase):
    """What makes a phase fit, of what is not done yet."""
    settings = made.settings
    ways = []
    if phase.largest_batch:
        about = "" if phase.largest_batch_is_compiled else "about "
        ways.append(f"batches of at most {about}{phase.largest_batch}")
    if phase.batch_per_core > 1:
        ways.append("more parts with --accumulate")
    if not settings.get("model.remat"):
        ways.append("--remat")
    if settings.get("model.dtype") in (None, "float32"):
        ways.append("--dtype mixed_bfloat16")
    return f"Take {', or '.join(ways or ['a smaller model'])}."


def pace(made):
    """Which limit sets the pace, of each phase if they differ."""
    names = {
        "arithmetic": "arithmetic",
        "memory": "memory traffic",
        "network": "the network",
    }
    limits = [names[phase.limited_by] for phase in made.phases]
    if len(set(limits)) == 1:
        return f"The pace is set by {limits[0]}."
    told = (f"in phase {i + 1} by {limit}" for i, limit in enumerate(limits))
    return f"The pace is set {', '.join(told)}."


def truth(made):
    """What times are to be believed."""
    if made.efficiency < 1:
        share = f"{100 * made.efficiency:.3g} %"
        return f"Times are at {share} of what the machine can do."
    return "Times are the shortest possible; real steps take longer."


def money(amount):
    """A price: 1234.5 -> '1,234.50'."""
    return f"{amount:,.2f}"


def binary(num_bytes):
    """A size of memory: 3 * 2**29 -> '1.50 GiB'."""
    if round(num_bytes / 2**20, 1) < 1024:
        return f"{num_bytes / 2**20:,.1f} MiB"
    return f"{num_bytes / 2**30:,.2f} GiB"


def si(value, unit):
    """A large number with its prefix: 9.4e12 -> '9.4 TFLOP'."""
    prefixes = ["", "k", "M", "G", "T", "P", "E"]
    # 999.6 is written 1e+03 with three digits.
    while value >= 999.5 and len(prefixes) > 1:
        value /= 1000
        prefixes.pop(0)
    return f"{three_digits(value)} {prefixes[0]}{unit}"


def time(seconds):
    """A time from microseconds to days: 93784 -> '26.1 h'."""
    for limit, divisor, unit in (
        (0.9995e-3, 1e-6, "µs"),
        (0.9995, 1e-3, "ms"),
        (120, 1, "s"),
        (7200, 60, "min"),
        (72 * 3600, 3600, "h"),
    ):
        if seconds < limit:
            return f"{three_digits(seconds / divisor)} {unit}"
    return f"{seconds / 86400:,.1f} days"


def three_digits(value):
    """A number of at least three digits: 9.345 -> '9.35', 5000 -> '5,000'."""
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"
