"""Options that several commands share, and lists after one option name."""

import enum
import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperCommand


class ValuesCommand(TyperCommand):
    """A command whose list options take all values up to the next option.

    `--corpus a.txt b.txt` is what `--corpus *.txt` becomes in a shell; typer
    alone wants `--corpus a.txt --corpus b.txt`. Both work.
    """

    def parse_args(self, ctx, args):
        """Parses `args` with the lists written out."""
        lists = {
            name
            for parameter in self.params
            if getattr(parameter, "multiple", False)
            for name in parameter.opts
        }
        return super().parse_args(ctx, repeat_list_options(args, lists))


def repeat_list_options(arguments, lists):
    """Repeats an option name before each of its values.

    >>> repeat_list_options(["--corpus", "a", "b", "-n", "1"], {"--corpus"})
    ['--corpus', 'a', '--corpus', 'b', '-n', '1']
    """
    repeated = []
    option = None
    values = 0
    for argument in arguments:
        if argument.startswith("-"):
            option = argument if argument in lists else None
            values = 0
        elif option is not None:
            if values:
                repeated.append(option)
            values += 1
        repeated.append(argument)
    return repeated


class Backend(enum.StrEnum):
    """Keras's backends."""

    tensorflow = "tensorflow"
    jax = "jax"
    torch = "torch"


class Dtype(enum.StrEnum):
    """Keras's dtype policies for training."""

    float32 = "float32"
    mixed_bfloat16 = "mixed_bfloat16"
    mixed_float16 = "mixed_float16"


def use_backend(backend):
    """Chooses Keras's backend; must run before Keras is imported."""
    if backend is None:
        return None
    if importlib.util.find_spec(backend) is None:
        raise typer.BadParameter(
            f"`{backend}` is not installed. "
            f'Install it with: pip install "keras-albert[{backend}]"'
        )
    if "keras" in sys.modules and backend != _loaded_backend():
        raise typer.BadParameter(
            f"Keras already runs on {_loaded_backend()} in this process."
        )
    os.environ["KERAS_BACKEND"] = str(backend)
    return backend


def _loaded_backend():
    return sys.modules["keras"].backend.backend()


BackendOption = Annotated[
    Backend | None,
    typer.Option(
        "--backend",
        callback=use_backend,
        is_eager=True,
        help="Keras backend. [dim]default: KERAS_BACKEND, or Keras's own[/]",
    ),
]
CorpusOption = Annotated[
    list[str],
    typer.Option(
        "--corpus",
        metavar="FILES",
        help="Text (a blank line ends a document) or JSON lines with a "
        "`text` field; .gz of both; quoted patterns work too.",
    ),
]
TokenizerOption = Annotated[
    Path,
    typer.Option(
        "--tokenizer",
        metavar="FILE",
        help="A SentencePiece .model, a WordPiece vocab.txt or the folder of a "
        "model.",
    ),
]
DtypeOption = Annotated[
    Dtype | None,
    typer.Option(help="Precision. [dim]default: float32[/]"),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same run.")]
