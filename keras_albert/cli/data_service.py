"""`keras-albert data-service`: makes batches in other processes or machines."""

import os
import sys
from typing import Annotated

import typer

from keras_albert.cli.errors import ErrorLineGroup

data_service = typer.Typer(
    name="data-service",
    cls=ErrorLineGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make batches of prepared data in other processes or on other "
    "machines.\n\nStart one dispatcher and its workers, then pass "
    '`data_service="grpc://HOST:PORT"` to `pretraining_dataset`. All of them '
    "must see the prepared folder under the same path. The batches are those "
    "that one process makes, to the byte.",
)


@data_service.command()
def dispatcher(
    workers: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT,…",
            help="All workers that will run. Which worker makes which batch "
            "follows from this list.",
        ),
    ],
    port: Annotated[
        int, typer.Option(help="Where workers and trainers connect.")
    ] = 5050,
):
    """Start the dispatcher, which tells trainers where the workers are."""
    from keras_albert.data import data_service as service

    addresses = [w.strip() for w in workers.split(",") if w.strip()]
    server = service.dispatcher_server(port, addresses)
    _serve(
        server,
        f"Dispatcher at {server.target} for {len(addresses)} workers.",
    )


@data_service.command()
def worker(
    dispatcher: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Address of the dispatcher."),
    ],
    port: Annotated[int, typer.Option(help="Where this worker is reached.")],
    host: Annotated[
        str,
        typer.Option(
            help="This machine's name in the dispatcher's list of workers."
        ),
    ] = "localhost",
):
    """Start a worker, which makes its share of the batches."""
    from keras_albert.data import data_service as service

    server = service.worker_server(dispatcher, port, host)
    _serve(server, f"Worker {host}:{port} of the dispatcher at {dispatcher}.")


def _serve(server, text):
    """Says what runs, and holds on to the server until a signal comes."""
    from keras_albert.cli import show
    from keras_albert.data.data_service import run_until_signal

    show.console().print(f"{text} Stop with Ctrl-C.")
    run_until_signal(server)
    show.console().print("Stopped.")
    # What is left of the server would wait for its last client.
    sys.stdout.flush()
    os._exit(0)
