"""`keras-albert serve`: a local server with TensorFlow Serving's contract."""

from pathlib import Path
from typing import Annotated

import typer


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="Folder of the model, which holds its versions 1, 2, ...",
        ),
    ] = None,
    model_name: Annotated[
        str | None,
        typer.Option(
            help="Name in URLs. [dim]default: the folder's name[/]",
        ),
    ] = None,
    model_config_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Several models, versions and labels: a models.config. "
            "Instead of DIR.",
        ),
    ] = None,
    models_folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where that file's models are, if not at their base_path.",
        ),
    ] = None,
    model_config_file_poll_wait_seconds: Annotated[
        float,
        typer.Option(min=0, help="Take changes of that file; 0: never."),
    ] = 0,
    host: Annotated[
        str,
        typer.Option(help="Address; 0.0.0.0 lets other machines in."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="REST; 0: any free one.")
    ] = 8501,
    grpc_port: Annotated[
        int, typer.Option(min=0, max=65535, help="gRPC; 0: any free one.")
    ] = 8500,
    grpc: Annotated[bool, typer.Option(help="Whether to speak gRPC.")] = True,
    enable_batching: Annotated[
        bool,
        typer.Option(help="Compute requests that come together as one batch."),
    ] = False,
    batching_parameters_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How to batch: a batching.config."),
    ] = None,
    rest_api_timeout_in_ms: Annotated[
        int,
        typer.Option(min=1, help="How long the model may take over REST."),
    ] = 30000,
    max_body_mb: Annotated[
        float, typer.Option(help="Larger requests are refused.")
    ] = 16,
    file_system_poll_wait_seconds: Annotated[
        float, typer.Option(help="How often to look for new versions.")
    ] = 1,
    max_num_load_retries: Annotated[
        int,
        typer.Option(min=0, help="How often to try a bad version again."),
    ] = 5,
    shutdown_seconds: Annotated[
        float,
        typer.Option(min=0, help="How long answers may take at the end."),
    ] = 30,
    cors: Annotated[
        bool, typer.Option(help="Let web pages of other origins ask.")
    ] = False,
):
    """Serve an exported model on this machine, as TensorFlow Serving would.

    REST and gRPC with the same URLs, messages and errors, and a page to try
    the model at /. New versions are taken while it runs. In production use
    TensorFlow Serving.
    """
    import asyncio
    import functools

    from keras_albert.cli import show
    from keras_albert.serving import BatchingParameters
    from keras_albert.serving import ModelServer
    from keras_albert.serving import ServerOptions
    from keras_albert.serving import read_batching_parameters
    from keras_albert.serving import read_model_configs
    from keras_albert.serving.server.models.config import model_in_folder
    from keras_albert.serving.server.server import serve_until_signal

    if (folder is None) == (model_config_file is None):
        raise typer.BadParameter("Give either DIR or --model-config-file.")
    if model_config_file is None:
        if models_folder is not None:
            raise typer.BadParameter(
                "--models-folder goes with --model-config-file."
            )
        read_configs = None
        configs = [model_in_folder(folder, model_name)]
    else:
        read_configs = functools.partial(
            read_model_configs, model_config_file, models_folder
        )
        configs = read_configs()
    batching = BatchingParameters() if enable_batching else None
    if batching_parameters_file is not None:
        batching = read_batching_parameters(batching_parameters_file)
    options = ServerOptions(
        host=host,
        port=port,
        grpc_port=grpc_port if grpc else None,
        batching=batching,
        max_body_bytes=round(max_body_mb * 2**20),
        timeout_seconds=rest_api_timeout_in_ms / 1000,
        poll_seconds=file_system_poll_wait_seconds,
        load_retries=max_num_load_retries,
        shutdown_seconds=shutdown_seconds,
        allow_cors=cors,
    )
    server = ModelServer(configs, options)
    console = show.console()

    def on_ready():
        for line in greeting(server, options, [c.name for c in configs]):
            console.print(line, markup=False, soft_wrap=True)

    _log_to_stderr()
    console.print("Loading ...")
    asyncio.run(
        serve_until_signal(
            server,
            on_ready,
            read_configs,
            model_config_file_poll_wait_seconds,
        )
    )
    console.print("Stopped.")


def greeting(server, options, names):
    """The lines that say where the models are reached.

    Args:
        server: has `port` and `grpc_port`.
        options: `ServerOptions`.
        names: list of string, the models.

    Returns:
        List of string.
    """
    host = f"[{options.host}]" if ":" in options.host else options.host
    url = f"http://{host}:{server.port}"
    lines = [f"REST  {url}/v1/models/{name}" for name in names]
    if server.grpc_port is not None:
        lines.append(f"gRPC  {host}:{server.grpc_port}")
    lines += [
        f"Try it in the browser: {url}/",
        "For trying it out. In production use TensorFlow Serving, which "
        "serves the same folder in the same way.",
        "Stop with Ctrl-C.",
    ]
    return lines


def _log_to_stderr():
    import logging

    from rich.console import Console
    from rich.logging import RichHandler

    handler = RichHandler(
        console=Console(stderr=True), show_path=False, show_level=False
    )
    logger = logging.getLogger("keras_albert.serving")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
