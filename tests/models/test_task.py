"""The mixin leaves no trace when saving fails."""

import pytest

from keras_albert.models import load_model
from tests.models.tiny_models import tiny_pretrainer

pytestmark = pytest.mark.every_backend


def test_optimizer_is_back_after_a_failed_save(tmp_path):
    pretrainer = tiny_pretrainer()
    optimizer = pretrainer.optimizer
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OSError, match="file"):
        pretrainer.save_to_preset(str(tmp_path / "file"))

    assert pretrainer.optimizer is optimizer


def test_a_file_of_a_model_never_trained_loads_without_warning(
    tmp_path, recwarn
):
    tiny_pretrainer().save(tmp_path / "p.keras")

    reloaded = load_model(tmp_path / "p.keras")

    assert reloaded.compiled
    assert not [w for w in recwarn if "optimizer" in str(w.message)]


def test_a_file_saved_where_jit_is_on_leaves_it_to_this_backend(tmp_path):
    pretrainer = tiny_pretrainer()
    pretrainer.compile(jit_compile=True)
    pretrainer.save(tmp_path / "p.keras")

    reloaded = load_model(tmp_path / "p.keras")

    assert reloaded.jit_compile == tiny_pretrainer().jit_compile
