"""The `keras-albert` application: its commands and its entry point.

Help texts must answer at once, so that nothing here, nor at the top of a
command's module, may import Keras, TensorFlow or the rest of the package.
"""

import typer

from keras_albert.cli.convert import convert
from keras_albert.cli.data_service import data_service
from keras_albert.cli.errors import ErrorLineGroup
from keras_albert.cli.explain import explain
from keras_albert.cli.export import export
from keras_albert.cli.finetune import finetune
from keras_albert.cli.inspect_corpus import inspect_corpus
from keras_albert.cli.options import ValuesCommand
from keras_albert.cli.plan import plan
from keras_albert.cli.predict import predict
from keras_albert.cli.prepare import prepare
from keras_albert.cli.pretrain import pretrain
from keras_albert.cli.quickstart import quickstart
from keras_albert.cli.quiet import hushed
from keras_albert.cli.release import release
from keras_albert.cli.serve import serve
from keras_albert.cli.sizes import sizes
from keras_albert.cli.train_tokenizer import train_tokenizer

app = typer.Typer(
    name="keras-albert",
    cls=ErrorLineGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    help="Pretrain, fine-tune and serve ALBERT in Keras 3.",
)

for command in (
    quickstart,
    inspect_corpus,
    train_tokenizer,
    prepare,
    explain,
    plan,
    pretrain,
    finetune,
    predict,
    export,
    release,
    serve,
    convert,
    sizes,
):
    # What follows `--` is Beam's; all other commands refuse it.
    more = {"allow_extra_args": command is prepare}
    app.command(cls=ValuesCommand, context_settings=more)(command)

app.add_typer(data_service)


def main():
    """Runs the command line; `keras-albert` calls it."""
    with hushed():
        app()


if __name__ == "__main__":
    main()
