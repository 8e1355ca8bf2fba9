"""The packages that only the server needs."""

from keras_albert.export.extra import import_extra

EXTRA = "serving"


def import_serving_api(name):
    """Imports a module of `tensorflow_serving`: the contract's messages.

    Args:
        name: string, below that package: `"apis.predict_pb2"`.

    Returns:
        The module.

    Raises:
        ImportError: that says what to install.
    """
    return import_extra(f"tensorflow_serving.{name}", EXTRA)
