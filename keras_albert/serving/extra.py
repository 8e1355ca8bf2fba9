"""The packages that only the server needs, and what to do without them."""

import importlib

EXTRA = 'pip install "keras-albert[serving]"'


def import_extra(name):
    """Imports a module that the extra `serving` installs.

    Args:
        name: string, dotted.

    Returns:
        The module.

    Raises:
        ImportError: that says what to install.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"The local server needs the package `{error.name}`. "
            f"Install it with: {EXTRA}"
        ) from error


def import_serving_api(name):
    """Imports a module of `tensorflow_serving`: the contract's messages.

    Args:
        name: string, below that package: `"apis.predict_pb2"`.

    Returns:
        The module.
    """
    return import_extra(f"tensorflow_serving.{name}")
