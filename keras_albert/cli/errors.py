"""What a user sees when a command cannot go on: one line and an exit code.

0 is success, 1 an error that the library explains, 2 a wrong command line
(typer's own), 130 an interruption. Anything else is a bug of ours and keeps
Python's traceback.
"""

import contextlib
import os

import typer
from typer.core import TyperGroup

EXPLAINED = (
    FloatingPointError,
    ImportError,
    # A missing file, a full disk, a worker process that was killed.
    OSError,
    TypeError,
    UnicodeError,
    ValueError,
)
TRACEBACK = "KERAS_ALBERT_TRACEBACK"


class ErrorLineGroup(TyperGroup):
    """Turns the library's errors into one red line on stderr.

    With the environment variable `KERAS_ALBERT_TRACEBACK=1` they stay Python
    errors, for whoever looks for a bug.
    """

    def invoke(self, ctx):
        """Runs the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interruption:
            fail(str(interruption) or "Interrupted.", exit_code=130)
        except EXPLAINED as error:
            if os.environ.get(TRACEBACK):
                raise
            fail(error_line(error), exit_code=1)


def error_line(error):
    """The text of `error` on one line, never empty."""
    text = " ".join(str(error).split())
    return text or type(error).__name__


def fail(text, exit_code):
    """Prints `text` in red on stderr and ends the command."""
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(text, style="red", markup=False)
    raise typer.Exit(exit_code)


@contextlib.contextmanager
def interruption_keeps(kept):
    """Makes Ctrl-C say what remains: `kept` is a sentence."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted. {kept}") from None
