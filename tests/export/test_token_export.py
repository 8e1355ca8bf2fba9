import json
import sys

import pytest

from keras_albert.export import litert_format
from keras_albert.export.token_export import FORMATS
from keras_albert.export.token_export import check_size
from keras_albert.export.token_export import export_token_model
from keras_albert.export.token_export import fitting_lengths
from keras_albert.models.text_classifier import AlbertTextClassifier
from tests.export.token_exports import LABELS
from tests.export.token_exports import tiny_model

pytest.importorskip("onnxruntime", reason="the extra `onnx` is missing")


def test_folder_says_what_is_in_it(token_exports):
    _, _, made = token_exports("classifier", "litert")

    assert made.path.parts[-3:] == ("classifier", "litert", "1")
    assert made.model_file == made.path / "model.tflite"
    assert made.difference < 1e-5
    assert {path.name for path in made.path.iterdir()} == {
        *("README.md", "assets", "conformance.json", "model.json"),
        *("model.tflite", "tokenizer.json"),
    }
    content = json.loads((made.path / "model.json").read_text())
    assert content["labels"] == LABELS
    assert content["lengths"] == [8, 16, 23]
    assert content["inputs"]["token_ids"] == ["int32", [1, "length"]]
    assert content["outputs"] == {"probabilities": ["float32", [1, 3]]}
    assert content["special_tokens"]["[SEP]"] == 3


def test_a_preset_becomes_the_next_version(tmp_path):
    model, preprocessor = tiny_model("classifier")
    model.save_to_preset(tmp_path / "preset")
    stages = []

    for version in (1, 2):
        made = export_token_model(
            tmp_path / "preset",
            tmp_path / "out",
            format="onnx",
            lengths=[8],
            verify=False,
            report=stages.append,
        )

        assert made.path == tmp_path / "out" / "onnx" / str(version)
    assert made.difference is None
    assert "Opening the model" in stages


def test_a_failed_check_leaves_nothing(tmp_path, monkeypatch):
    model, _ = tiny_model("classifier")
    other = AlbertTextClassifier(model.backbone, num_classes=3)

    def write(folder, task, token_model, lengths):
        # Weights of a classifier that was never trained.
        token_model.head.dense.kernel.assign(other.logits.kernel.numpy() + 1)
        token_model.head.dense.kernel[:, 0].assign([9.0] * 8)
        real_write(folder, task, token_model, lengths)

    real_write = litert_format.write
    monkeypatch.setattr(litert_format, "write", write)

    with pytest.raises(ValueError, match="LiteRT.* differs from the Keras"):
        export_token_model(model, tmp_path / "o", format="litert", lengths=[8])

    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_a_failed_export_leaves_no_folder(tmp_path, monkeypatch, format):
    def fail(folder, *_):
        (folder / "half").touch()
        raise RuntimeError("no room\nand more")

    monkeypatch.setattr(FORMATS[format], "write", fail)
    model, _ = tiny_model("classifier")

    with pytest.raises(ValueError, match="^model.* does not convert: no room$"):
        export_token_model(
            model, tmp_path / "a" / "b", format=format, lengths=[8]
        )

    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_extra_is_told_first(tmp_path, monkeypatch, format):
    package = {"onnx": "onnx", "litert": "ai_edge_litert", "torch": "torch"}
    for name in [n for n in sys.modules if n.startswith(package[format])]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package[format], None)

    with pytest.raises(ImportError, match=f"keras-albert.{format}."):
        export_token_model("no such preset", tmp_path / "o", format=format)

    assert not (tmp_path / "o").exists()


def test_what_a_runtime_cannot_read_is_one_value_error(tmp_path, monkeypatch):
    model, _ = tiny_model("classifier")
    monkeypatch.setattr(
        "keras_albert.export.onnx_format.write",
        lambda folder, *_: (folder / "model.onnx").write_bytes(b"no model"),
    )

    with pytest.raises(ValueError, match="^model.onnx does not run: "):
        export_token_model(model, tmp_path / "o", format="onnx", lengths=[8])


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"format": "coreml"},
            "onnx, litert, torch. Received: format='coreml'",
        ),
        ({"format": "onnx", "lengths": []}, "at least 3.*lengths=\\[\\]"),
        ({"format": "onnx", "lengths": [2]}, "at least 3.*lengths=\\[2\\]"),
    ],
)
def test_wrong_options_are_told_first(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        export_token_model("no such preset", tmp_path / "o", **options)

    assert not (tmp_path / "o").exists()


def test_lengths_fit_the_model():
    assert fitting_lengths((64, 128, 256), 512) == [64, 128, 256]
    assert fitting_lengths((256, 64, 128), 100) == [64, 100]
    assert fitting_lengths((64, 128, 256), 32) == [32]


def test_weights_stored_twice_are_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"x" * 11_000_000)

    check_size(path, 10_000_000)

    path.write_bytes(b"x" * 12_100_000)
    with pytest.raises(ValueError, match="12100000 bytes .* more than once"):
        check_size(path, 10_000_000)
