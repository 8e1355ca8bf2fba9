"""Presets of other libraries, where `from_preset` and `load_model` meet them.

Conversion builds the models and so stands above them. It is looked up by name
only when there is something to convert.
"""

import importlib
from pathlib import Path

import h5py

CONVERSION = "keras_albert.conversion.loading"


def load_foreign_preset(preset, cls=None, load_weights=True, **kwargs):
    """Loads a model of another library's as one of ours.

    Args:
        preset: string or path: a folder, or a name such as
            `"hf://albert/albert-base-v2"`.
        cls: class of ours to be made, or `None` for the one that fits.
        load_weights: bool. Whether the weights are loaded, too.
        **kwargs: as of `from_preset`.

    Returns:
        A model, or `None` if the preset is one of ours.
    """
    conversion = importlib.import_module(CONVERSION)
    return conversion.load_preset(preset, cls, load_weights, **kwargs)


class FromForeignPreset:
    """Mixin before a keras-hub class: `from_preset` takes foreign presets."""

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a preset of ours or of another library.

        Args:
            preset: string. A folder, or a name on a hub such as
                `"hf://albert/albert-base-v2"`. Folders of Hugging Face,
                keras-hub and Google's code are converted.
            load_weights: bool. Whether the weights are loaded, too. Defaults
                to `True`.
            **kwargs: arguments that replace the stored ones, such as `dtype`
                or `num_classes`.
        """
        model = load_foreign_preset(preset, cls, load_weights, **kwargs)
        if model is not None:
            return model
        try:
            return cls._from_own_preset(
                str(preset), load_weights=load_weights, **kwargs
            )
        except OSError as error:
            _name_damaged_weights(Path(preset), error)
            raise

    @classmethod
    def _from_own_preset(cls, preset, **kwargs):
        return super().from_preset(preset, **kwargs)


def _name_damaged_weights(folder, error):
    """Raises an error that names the file which HDF5 cannot open, if any."""
    for file in sorted(folder.glob("*.weights.h5")):
        try:
            h5py.File(file).close()
        except OSError:
            raise OSError(
                f"{file} is damaged or cut off. Copy the whole preset again, "
                f"or save it again. HDF5 says: {error}"
            ) from None
