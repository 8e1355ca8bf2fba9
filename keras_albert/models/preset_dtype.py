"""The precision of a loaded preset: what keras-hub means, but trips over.

A preset saved in any floating precision is loaded in the present one, see
`keras.config.dtype_policy`. For a task in mixed precision, keras-hub 0.32 takes
the policy's name for a dtype, which Keras does not know.
"""

import keras
from keras_hub.src.utils.preset_utils import CONFIG_FILE
from keras_hub.src.utils.preset_utils import load_json


def with_known_dtype(preset, arguments):
    """Returns arguments of `from_preset`, with a dtype where one is needed.

    Args:
        preset: string. A folder or a name on a hub.
        arguments: dict.
    """
    if arguments.get("dtype") is not None or "backbone" in arguments:
        return arguments
    stored = load_json(str(preset), CONFIG_FILE).get("config", {}).get("dtype")
    if isinstance(stored, dict):
        stored = stored.get("config", {}).get("name")
    if not str(stored).startswith("mixed_"):
        return arguments
    return {**arguments, "dtype": keras.config.dtype_policy()}
