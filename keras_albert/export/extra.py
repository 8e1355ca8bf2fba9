"""Packages that only some users need, and what to do without them."""

import importlib


def import_extra(name, extra):
    """Imports a module that an extra of this package installs.

    Args:
        name: string, dotted.
        extra: string, such as `"onnx"`.

    Returns:
        The module.

    Raises:
        ImportError: that says what to install.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"This needs the package `{error.name}`, which is not installed. "
            f'Install it with: pip install "keras-albert[{extra}]"'
        ) from error
