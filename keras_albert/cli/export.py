"""`keras-albert export`: a model for a server or another runtime."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from keras_albert.cli.options import BackendOption


class Format(enum.StrEnum):
    """What an export can write; `EXPORTS` says how."""

    saved_model = "saved_model"
    onnx = "onnx"
    litert = "litert"
    torch = "torch"


class Dtype(enum.StrEnum):
    """How the weights are stored and multiplied."""

    float32 = "float32"
    bfloat16 = "bfloat16"


def export(
    model: Annotated[
        Path | None,
        typer.Argument(
            help="Preset, .keras or output folder of `finetune` or `pretrain`."
        ),
    ] = None,
    model_option: Annotated[
        Path | None,
        typer.Option("--model", metavar="MODEL", help="The same by name."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            metavar="DIR/NAME",
            help="Folder of the served model; a version is added.",
        ),
    ] = Path("served/albert"),
    version: Annotated[
        int | None,
        typer.Option(help="Version number. [dim]default: the next one[/]"),
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            help="A SavedModel takes strings, the others take token ids and "
            "lie in a folder of the format's name."
        ),
    ] = Format.saved_model,
    dtype: Annotated[
        Dtype,
        typer.Option(
            help="bfloat16 halves the size and is faster on processors that "
            "know it; the answers differ a little, which is reported."
        ),
    ] = Dtype.float32,
    verify: Annotated[
        bool,
        typer.Option(help="Compare answers with Python in a fresh process."),
    ] = True,
    bundle: Annotated[
        bool,
        typer.Option(
            help="Also write DIR/deploy: TensorFlow Serving's configuration, "
            "compose and Kubernetes files, and a README."
        ),
    ] = True,
    backend: BackendOption = None,
):
    """Export a model for TensorFlow Serving, ONNX, LiteRT or PyTorch."""
    if (model is None) == (model_option is None):
        raise typer.BadParameter("Give the model once: MODEL or --model MODEL.")
    model = model or model_option
    # The output of `finetune` holds its model in a folder of this name.
    if (model / "preset").is_dir():
        model = model / "preset"
    EXPORTS[format](
        model,
        output,
        version=version,
        dtype=str(dtype),
        verify=verify,
        bundle=bundle,
    )


def export_saved_model(model, output, *, version, dtype, verify, bundle):
    """Writes a version, and with `bundle` what a server is run with."""
    from keras_albert.cli import show
    from keras_albert.export import export_model

    if bundle:
        from keras_albert.serving.bundle.config import check_name

        check_name(output.resolve().name)
    console = show.console()
    with console.status("Starting") as status:

        def report(stage):
            status.update(stage)
            console.print(stage)

        made = export_model(
            model,
            output,
            version=version,
            dtype=dtype,
            verify=verify,
            report=report,
        )
    size = sum(f.stat().st_size for f in made.path.rglob("*") if f.is_file())
    console.print(f"{made.path} ({show.megabytes(size)})")
    console.print(f"Signatures: {', '.join(sorted(made.signatures))}")
    if made.differences is not None:
        console.print(difference_line(made.differences, dtype))
    if bundle:
        from keras_albert.serving import write_bundle

        deploy = write_bundle(output)
        console.print(f"How to run and release it: {deploy / 'README.md'}")
    if "classify" in made.signatures:
        console.print(f'Ask it: keras-albert predict {made.path} "some text"')


def export_token_ids(format):
    """Makes the function that writes one of the formats of token ids.

    Args:
        format: `Format`.
    """

    def run(model, output, *, version, dtype, verify, bundle):
        if dtype != "float32":
            raise typer.BadParameter(
                f"{format} is written in float32 only. Leave --dtype out."
            )
        from keras_albert.cli import show
        from keras_albert.export import export_token_model

        console = show.console()
        with console.status("Starting") as status:

            def report(stage):
                status.update(stage)
                console.print(stage)

            made = export_token_model(
                model,
                output,
                format=str(format),
                version=version,
                verify=verify,
                report=report,
            )
        size = made.model_file.stat().st_size
        console.print(f"{made.model_file} ({show.megabytes(size)})")
        if made.difference is not None:
            console.print(
                f"Differs from the Keras model by {made.difference:.1g} at "
                "most."
            )
        console.print(f"How to ask it: {made.path / 'README.md'}")

    return run


def difference_line(differences, dtype):
    """Says how far the export is from the Python model.

    Args:
        differences: `Differences` of an export.
        dtype: string.
    """
    line = (
        f"Differs from the float32 model by {differences.largest:.1g} at most "
        f"and {differences.mean:.1g} on average"
    )
    if dtype != "float32" and differences.num_labels:
        line += (
            f"; {differences.changed_labels} of {differences.num_labels} "
            "labels changed"
        )
    return f"{line}."


EXPORTS = {
    Format.saved_model: export_saved_model,
    Format.onnx: export_token_ids(Format.onnx),
    Format.litert: export_token_ids(Format.litert),
    Format.torch: export_token_ids(Format.torch),
}
