"""Presets of ours, with what a conversion must not lose beside them.

`conversion.json` says where a preset came from; `kept_heads.safetensors` holds
the heads that have no model here. Converted back, they return to their place.
A model that was trained and saved anew no longer has them.
"""

import hashlib
import json
from pathlib import Path

from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.report import ConversionReport
from keras_albert.conversion.source import Converted
from keras_albert.conversion.variable_memory import Unfilled
from keras_albert.conversion.variable_memory import streamed
from keras_albert.conversion.weight_files import SafetensorsFile
from keras_albert.conversion.weight_files import write_safetensors
from keras_albert.layers.initialization import filled_later
from keras_albert.models.loading import load_model
from keras_albert.tokenizers.loading import load_tokenizer

PROVENANCE = "conversion.json"
KEPT = "kept_heads.safetensors"


def write_preset(converted, folder):
    """Writes a model as a preset of ours.

    Args:
        converted: `Converted`.
        folder: path of a folder that exists.
    """
    folder, model = Path(folder), converted.model
    with streamed(model):
        model.save_to_preset(str(folder))
    written = (folder / "tokenizer.json").is_file()
    if converted.tokenizer is not None and not written:
        converted.tokenizer.save_to_preset(str(folder))
    if converted.kept:
        write_safetensors(
            folder / KEPT,
            {name: array.shape for name, array in converted.kept.items()},
            converted.kept.__getitem__,
        )
    write_provenance(converted, folder)


def write_provenance(converted, folder):
    """Writes where a preset came from and what became of each weight."""
    content = {
        "weights": _digest(folder),
        "kind": converted.kind,
        "architecture": converted.architecture,
        "settings": converted.settings,
        "report": json.loads(converted.report.to_json()),
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    (Path(folder) / PROVENANCE).write_text(text, encoding="utf-8")


def _digest(folder):
    """Hashes the weights, so that a stale record is known as such."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.weights.h5")):
        with open(path, "rb") as file:
            digest.update(path.name.encode())
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def read_preset(folder):
    """Loads a preset of ours.

    Args:
        folder: path of the preset.

    Returns:
        `Converted`, of the kind it was once converted from, or `"preset"`.

    Raises:
        ValueError: if a file is damaged or cut off.
    """
    folder = Path(folder)
    content = _provenance(folder)
    try:
        with filled_later(Unfilled()):
            model = load_model(folder, load_weights=False)
        load_preset_weights(model, folder)
    except (OSError, KeyError) as error:
        first = " ".join(str(error).split())[:200]
        raise ValueError(
            f"The preset {folder} is damaged or cut off. Save or convert it "
            f"again. Keras says: {first}"
        ) from None
    kept = _kept(folder) if content else {}
    return Converted(
        model=model,
        tokenizer=_tokenizer(model, folder),
        report=_report(model, content, kept),
        kept=kept,
        kind=content.get("kind", "preset"),
        architecture=content.get("architecture"),
        settings=content.get("settings", {}),
    )


def load_preset_weights(model, folder):
    """Loads a preset's weights into a model built from it.

    Args:
        model: model of ours or of keras-hub's.
        folder: path of the preset.
    """
    backbone = getattr(model, "backbone", model)
    parts = folder / "model.weights.json"
    whole = folder / "model.weights.h5"
    with streamed(model):
        backbone.load_weights(str(parts if parts.is_file() else whole))
        heads = folder / "task.weights.h5"
        if heads.is_file() and backbone is not model:
            model.load_task_weights(str(heads))


def _report(model, content, kept):
    """What there is to convert: all but what was never trained."""
    earlier = content.get("report", {})
    new = earlier.get("new", [])
    names = [n for n in model_variables(model) if n not in new]
    reasons = earlier.get("kept", {})
    return ConversionReport(
        loaded={name: name for name in names},
        kept={
            name: reasons.get(name, "a head without a model") for name in kept
        },
        new=new,
    )


def _provenance(folder):
    path = folder / PROVENANCE
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    # Trained and saved again in the same folder: it is a model of its own.
    return content if content.get("weights") == _digest(folder) else {}


def _tokenizer(model, folder):
    preprocessor = getattr(model, "preprocessor", None)
    tokenizer = getattr(preprocessor, "tokenizer", None)
    if tokenizer is None and (folder / "tokenizer.json").is_file():
        return load_tokenizer(folder)
    return tokenizer


def _kept(folder):
    if not (folder / KEPT).is_file():
        return {}
    file = SafetensorsFile(folder / KEPT)
    return {name: file.read(name) for name in file.shapes}
