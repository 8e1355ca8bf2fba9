"""From one library's checkpoint to another's, checked by what both answer."""

import contextlib
import gc
from pathlib import Path

from keras_albert.conversion.archives import is_archive
from keras_albert.conversion.archives import unpacked
from keras_albert.conversion.checking import answers_there
from keras_albert.conversion.checking import check_inputs
from keras_albert.conversion.checking import differences
from keras_albert.conversion.checking import outputs_of
from keras_albert.conversion.destination import writing_folder
from keras_albert.conversion.google_writing import write_google
from keras_albert.conversion.hub import is_hub_name
from keras_albert.conversion.hub import local_folder
from keras_albert.conversion.hugging_face_writing import write_hugging_face
from keras_albert.conversion.keras_hub import HEAD_EPSILON
from keras_albert.conversion.keras_hub_writing import write_keras_hub
from keras_albert.conversion.opening import open_source
from keras_albert.conversion.presets import write_preset
from keras_albert.conversion.presets import write_provenance
from keras_albert.conversion.source import Converted
from keras_albert.conversion.source import check_fits
from keras_albert.conversion.source import load
from keras_albert.conversion.tokenizer_check import check_tokenizer
from keras_albert.conversion.tokenizer_files import write_tokenizer
from keras_albert.conversion.tokenizer_files import write_vocabulary
from keras_albert.models.config import AlbertConfig

FORMATS = ("preset", "hugging_face", "google", "keras_hub")
TOLERANCE = 1e-4


def convert(
    source,
    destination,
    to="preset",
    tokenizer=None,
    tolerance=TOLERANCE,
    overwrite=False,
    seed=0,
):
    """Converts a checkpoint and compares the outcome with the source.

    Args:
        source: path or string. A folder or archive (`.tar.gz`, `.zip`) of
            Google's TF1 code, a TF-Hub module, Hugging Face's `transformers`,
            keras-hub, Model Garden, brightmart's albert_zh, or a preset of
            ours; the prefix of a TensorFlow checkpoint; or a name on a hub,
            such as `"hf://albert/albert-base-v2"`. The kind is found from the
            content.
        destination: path of the new folder.
        to: string. `"preset"`, `"hugging_face"`, `"google"` or
            `"keras_hub"`. Defaults to `"preset"`.
        tokenizer: path of a tokenizer, to take the place of the source's.
        tolerance: float. Greatest difference of any output that counts as
            equal, in units of the output's greatest value where that is above
            1. Defaults to `1e-4`.
        overwrite: bool. Whether an existing destination is replaced. Defaults
            to `False`.
        seed: int. Draws the weights of heads that the source lacks.

    Returns:
        `ConversionReport`.

    Raises:
        FileExistsError: if the destination exists.
        FileNotFoundError: if something of the source is missing.
        ValueError: if the source is damaged, cannot be converted, lies in
            the destination, or the outcome answers differently; nothing is
            written then.

    Example:

    ```python
    report = keras_albert.conversion.convert("albert_base_v2.tar.gz", "base")
    model = keras_albert.AlbertBackbone.from_preset("base")
    ```
    """
    if to not in FORMATS:
        raise ValueError(
            f"`to` must be one of {', '.join(FORMATS)}. Received: to={to!r}."
        )
    if not is_hub_name(source):
        _check_apart(Path(source), Path(destination))
    with (
        writing_folder(destination, overwrite) as folder,
        _local(source) as (path, name),
    ):
        return _convert(path, name, folder, to, tokenizer, tolerance, seed)


def _check_apart(source, destination):
    if destination.resolve() in source.resolve().parents:
        raise ValueError(
            f"The folder {destination} holds the source {source}, so that "
            "replacing it would remove the source. Choose another name."
        )


def _convert(path, name, folder, to, tokenizer, tolerance, seed):
    # One model is in memory at a time: the source's while its answers are
    # computed, then ours, then the one just written.
    opened = open_source(path, tokenizer, name)
    if not isinstance(opened, Converted):
        # Their library says less clearly what does not fit.
        check_fits(opened)
    inputs = check_inputs(_sizes(opened))
    expected, runner = outputs_of(opened, inputs, path)
    converted = (
        opened if isinstance(opened, Converted) else load(opened, seed=seed)
    )
    del opened
    report = converted.report
    expected, check, notes = answers_there(
        converted, inputs, expected, _head_epsilon(converted.model, to)
    )
    report.notes += notes
    _write(converted, folder, to)
    converted = _without_model(converted)
    gc.collect()
    reopened = open_source(folder)
    written, writer = outputs_of(reopened, inputs, folder)
    report.check = differences(written, expected, inputs["padding_mask"])
    for name, difference in check.items():
        if name in report.check:
            report.check[name] = max(report.check[name], difference)
    report.notes.append(f"Compared: {runner} with the outcome in {writer}.")
    _check(report, tolerance)
    if converted.tokenizer is not None and reopened.tokenizer is not None:
        report.notes += check_tokenizer(
            converted.tokenizer, reopened.tokenizer, folder
        )
    if to == "preset":
        write_provenance(converted, folder)
    return report


@contextlib.contextmanager
def _local(source):
    """Yields `(path, name)`, for as long as the files are needed."""
    if is_hub_name(source):
        yield local_folder(source), str(source)
    elif is_archive(source):
        with unpacked(source) as folder:
            yield folder, Path(source).name
    else:
        yield Path(source), Path(source).name


def _write(converted, folder, to):
    if to == "preset":
        write_preset(converted, folder)
    elif to == "keras_hub":
        converted.report.notes += write_keras_hub(converted, folder, keep=False)
    elif to == "hugging_face":
        write_hugging_face(converted, folder)
        if converted.tokenizer is not None:
            write_tokenizer(converted.tokenizer, folder)
    else:
        write_google(converted, folder)
        if converted.tokenizer is not None:
            write_vocabulary(converted.tokenizer, folder)


def _head_epsilon(model, to):
    """The epsilon of a masked language head in the format written."""
    if to == "keras_hub":
        return HEAD_EPSILON
    if to == "preset":
        model = getattr(model, "masked_lm_head", model)
    return getattr(model, "backbone", model).layer_norm_epsilon


def _sizes(opened):
    if not isinstance(opened, Converted):
        return opened.arguments
    backbone = getattr(opened.model, "backbone", opened.model)
    names = AlbertConfig.model_fields
    return {name: getattr(backbone, name, None) for name in names}


def _without_model(converted):
    converted.model = None
    return converted


def _check(report, tolerance):
    if report.max_difference is None:
        raise ValueError(
            "Nothing of the outcome could be compared with the source, so it "
            "was not kept."
        )
    if not report.max_difference <= tolerance:
        worst = max(report.check, key=report.check.get)
        raise ValueError(
            f"The outcome does not answer as the source does: {worst} differs "
            f"by {report.max_difference:.1e}, more than {tolerance:.0e}, so it "
            "was not kept. Check that the configuration belongs to the "
            "checkpoint (activation, heads, groups)."
        )
