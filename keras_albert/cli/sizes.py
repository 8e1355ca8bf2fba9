"""`keras-albert sizes`: the published sizes, and what "lite" buys."""

from typing import Annotated

import typer


def sizes(
    sequence_length: Annotated[
        int,
        typer.Option(min=1, help="Tokens that each token attends to."),
    ] = 512,
):
    """Show the published sizes with weights and arithmetic."""
    from keras_albert.cli import show
    from keras_albert.models import sizes as published

    rows = []
    for name, size in published.SIZES.items():
        shape = size.arguments
        weights = published.parameter_count(**shape)
        apart = shape["num_layers"]
        unshared = published.parameter_count(
            **shape, distinct_attentions=apart, distinct_feed_forwards=apart
        )
        flops = published.flops_per_token(
            **shape, sequence_length=sequence_length
        )
        rows.append(
            (
                name,
                shape["num_layers"],
                shape["hidden_dim"],
                f"{weights / 1e6:,.1f} M",
                f"{unshared / 1e6:,.1f} M",
                f"{flops / 1e9:,.2f} G",
            )
        )
    columns = (
        "size",
        "calls",
        "width",
        "weights",
        "unshared",
        "FLOPs/token",
    )
    show.console().print(
        show.table(
            None,
            columns,
            rows,
            caption='"Lite" buys a small file, small optimizer state, little '
            "to send.\nIt buys no speed: every call is computed, as if it had "
            "weights of its own.",
        )
    )
