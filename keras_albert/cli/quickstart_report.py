"""What a quickstart says at its end: each number beside its floor."""

from keras_albert.cli import show


def report(outcome, console):
    """Prints scores beside floors, answers, sizes, times and what is next.

    Args:
        outcome: `Outcome` of `quickstart_stages`.
        console: `rich.console.Console`.
    """
    console.print()
    console.print(
        show.table(
            "What it learned",
            ("measured on held-out text", "model", "floor", "the floor is"),
            score_rows(outcome),
        )
    )
    console.print(
        show.table(
            "What the served model says",
            ("text", "label", "probability"),
            [
                (text, label, show.percent(probability))
                for text, label, probability in outcome.answers
            ],
        )
    )
    console.print(
        show.table("Where the time went", ("stage", "time"), time_rows(outcome))
    )
    console.print(sizes_line(outcome))
    console.print(next_steps(outcome), markup=False, soft_wrap=True)


def score_rows(outcome):
    """Rows of `(what, model, floor, meaning of the floor)`."""
    final = outcome.pretrained.final
    rows = [
        (
            "masked words: loss in nats",
            f"{final['val_masked_lm_loss']:.2f}",
            f"{outcome.pretrained.masked_lm_floor:.2f}",
            "token frequency",
        ),
        (
            "masked words: right",
            show.percent(final["val_masked_lm_accuracy"]),
            show.percent(outcome.pretrained.masked_lm_accuracy_floor),
            "always the commonest",
        ),
        (
            "sentence order: right",
            show.percent(final["val_sentence_order_accuracy"]),
            show.percent(0.5),
            "chance",
        ),
    ]
    rows += [
        (
            f"reviews: right, seed {seed}",
            show.percent(accuracy),
            show.percent(outcome.naive_bayes),
            "naive Bayes",
        )
        for seed, accuracy in outcome.accuracies.items()
    ]
    return [*rows, ("", "", show.percent(outcome.majority), "majority class")]


def time_rows(outcome):
    """Rows of `(stage, time)` with their sum."""
    rows = [
        (stage, show.duration(seconds))
        for stage, seconds in outcome.seconds.items()
    ]
    return [*rows, ("all", show.duration(sum(outcome.seconds.values())))]


def sizes_line(outcome):
    """How large the model and the SavedModel are."""
    files = [p for p in outcome.served.rglob("*") if p.is_file()]
    served = show.megabytes(sum(p.stat().st_size for p in files))
    weights = show.number(outcome.pretrained.num_parameters)
    return f"{weights} weights in pretraining; the SavedModel has {served}."


def next_steps(outcome):
    """Commands to go on with, on the files just written."""
    return "\n".join(
        (
            "",
            f"All files are in {outcome.output}. What to try next:",
            f'  keras-albert predict {outcome.served} "很好看，推荐"',
            "  keras-albert quickstart --seeds 5 --output five_seeds",
            "  keras-albert train-tokenizer --corpus YOUR_TEXT*.txt",
            "  keras-albert pretrain --corpus YOUR_TEXT*.txt --tokenizer "
            "spiece.model",
        )
    )
