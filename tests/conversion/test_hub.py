"""Models on a hub, from a cache that was filled before."""

import json
import shutil

import pytest

from keras_albert.conversion.hub import is_hub_name
from keras_albert.conversion.hub import local_folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Puts a folder into the library's cache, and shuts the network off."""
    constants = pytest.importorskip(
        "huggingface_hub.constants", reason="the hub's own client"
    )
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))

    def put(folder, name):
        owner, model = name.split("/")
        root = tmp_path / "cache" / f"models--{owner}--{model}"
        shutil.copytree(folder, root / "snapshots" / ("a" * 40))
        (root / "refs").mkdir()
        (root / "refs" / "main").write_text("a" * 40)
        return f"hf://{name}"

    return put


def test_files_are_found_in_the_cache(cache, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "spiece.model"):
        (folder / name).write_text("{}")

    found = local_folder(cache(folder, "someone/albert"))

    assert sorted(p.name for p in found.iterdir()) == [
        "config.json",
        "model.safetensors",
        "spiece.model",
    ]


def test_an_index_may_not_point_elsewhere(cache, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    index = {"weight_map": {"a": "../../x.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    with pytest.raises(ValueError, match="outside its folder"):
        local_folder(cache(folder, "someone/evil"))


def test_a_model_without_weights_is_explained(cache, tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")

    with pytest.raises(FileNotFoundError, match="has no weights"):
        local_folder(cache(folder, "someone/empty"))


def test_names_of_hubs():
    assert is_hub_name("hf://albert/albert-base-v2")
    assert is_hub_name("kaggle://keras/albert/keras/albert_base_en_uncased")
    assert is_hub_name("albert_base_en_uncased")
    assert not is_hub_name("albert_base_v2")
    assert not is_hub_name("./albert")


def test_a_name_without_owner_is_one_sentence(cache):
    with pytest.raises(ValueError, match="hf://a/b/c"):
        local_folder("hf://a/b/c")
