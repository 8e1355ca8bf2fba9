"""Foreign presets are looked up by name, and only when they are met."""

import subprocess
import sys

import pytest

from keras_albert.models import AlbertBackbone
from keras_albert.models import foreign_presets
from tests.models.tiny_models import tiny_backbone


class Conversion:
    """Stands for the module that is looked up."""

    def __init__(self, result):
        self.result = result
        self.calls = []

    def load_preset(self, *arguments, **options):
        self.calls.append((arguments, options))
        return self.result


@pytest.fixture
def conversion(monkeypatch):
    def replace(result):
        found = Conversion(result)
        monkeypatch.setattr(
            foreign_presets.importlib, "import_module", lambda name: found
        )
        return found

    return replace


def test_a_foreign_preset_is_converted(conversion):
    found = conversion("a model")

    model = AlbertBackbone.from_preset("hf://a/b", False, dtype="bfloat16")

    assert model == "a model"
    assert found.calls == [
        (("hf://a/b", AlbertBackbone, False), {"dtype": "bfloat16"})
    ]


def test_ours_is_loaded_by_keras_hub(conversion, tmp_path):
    conversion(None)
    tiny_backbone().save_to_preset(str(tmp_path))

    model = AlbertBackbone.from_preset(tmp_path, num_layers=7)

    assert model.num_layers == 7


def test_conversion_is_not_imported_before_it_is_needed():
    code = (
        "import sys, keras_albert; keras_albert.AlbertBackbone; "
        "print([n for n in sys.modules if 'albert.conversion' in n])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert result.stdout.strip() == "[]", result.stderr
