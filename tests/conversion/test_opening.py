"""The kind of a checkpoint is found from what is there."""

import json
import shutil

import pytest

from keras_albert.conversion.opening import kind_of
from keras_albert.conversion.opening import open_source
from tests.conversion.checkpoints import read_checkpoint
from tests.conversion.checkpoints import save_checkpoint

CONFIG = "albert_config.json"


@pytest.fixture
def google(golden, tmp_path):
    return shutil.copytree(
        golden / "google_tf1" / "tiny_all", tmp_path / "google"
    )


@pytest.fixture
def tf_hub(golden, tmp_path):
    """Laid out as `export_to_tfhub.py` writes a module."""
    original = golden / "google_tf1" / "tiny_all"
    folder = tmp_path / "module"
    (folder / "variables").mkdir(parents=True)
    (folder / "assets").mkdir()
    save_checkpoint(
        folder / "variables" / "variables", read_checkpoint(original)
    )
    shutil.copyfile(original / CONFIG, folder / "assets" / CONFIG)
    (folder / "saved_model.pb").write_bytes(b"never parsed")
    (folder / "tfhub_module.pb").write_bytes(b"\x08\x03")
    return folder


def test_google_folder_and_prefix(google):
    assert kind_of(google) == kind_of(google / "model.ckpt") == "google"
    for path in (google, google / "model.ckpt"):
        source = open_source(path)
        assert (source.kind, source.task) == ("google", "pretrainer")


def test_a_hub_module_is_read_from_its_variables(tf_hub):
    assert kind_of(tf_hub) == "tf_hub"

    source = open_source(tf_hub)

    assert (source.kind, source.task) == ("tf_hub", "pretrainer")
    assert source.arguments["num_layers"] == 5


def test_the_vocabulary_of_a_hub_module_is_among_its_assets(
    tf_hub, shared_data
):
    name = "tokenizers/albert_en_30k-clean.rebuilt.model"
    shutil.copyfile(shared_data / name, tf_hub / "assets" / "30k-clean.model")
    (tf_hub / "assets" / "30k-clean.vocab").write_text("<pad>\t0\n")

    assert open_source(tf_hub).tokenizer.vocabulary_size() == 30000


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"registered_name": "keras_albert>AlbertBackbone"}, "preset"),
        ({"registered_name": "keras_hub>AlbertBackbone"}, "keras_hub"),
        ({"model_type": "albert"}, "hugging_face"),
        ({"architectures": ["AlbertModel"]}, "hugging_face"),
    ],
)
def test_configurations_tell(tmp_path, config, kind):
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert kind_of(tmp_path) == kind


def test_the_latest_of_several_checkpoints_is_taken(google):
    for suffix in ("index", "data-00000-of-00001"):
        shutil.copyfile(
            google / f"model.ckpt.{suffix}", google / f"model.ckpt-7.{suffix}"
        )
    with pytest.raises(ValueError, match=r"several .*model.ckpt, model.ckpt-7"):
        open_source(google)

    # Written on another machine, whose folder does not exist here.
    state = 'model_checkpoint_path: "/elsewhere/model.ckpt-7"\n'
    (google / "checkpoint").write_text(state)
    assert open_source(google).weights._file.prefix.endswith("model.ckpt-7")


def test_a_checkpoint_without_configuration_is_explained(google):
    (google / CONFIG).unlink()
    with pytest.raises(FileNotFoundError, match="put the configuration"):
        open_source(google)


def test_several_configurations_are_refused(google):
    shutil.copyfile(google / CONFIG, google / "albert_config_large.json")
    with pytest.raises(ValueError, match="Several configurations"):
        open_source(google)


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_configuration_cut_off_is_refused(google, content):
    (google / CONFIG).chmod(0o644)
    (google / CONFIG).write_text(content)
    with pytest.raises(ValueError, match="damaged or cut off"):
        open_source(google)
    (google / "config.json").write_text(content)
    with pytest.raises(ValueError, match="damaged or cut off"):
        kind_of(google)


def test_what_is_nothing_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing at"):
        kind_of(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file"):
        kind_of(tmp_path / "file")
    with pytest.raises(ValueError, match="nothing that can be converted"):
        kind_of(tmp_path)
