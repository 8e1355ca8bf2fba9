import pytest

from keras_albert.serving.server.models.config import ModelConfig
from keras_albert.serving.server.models.config import find_versions
from keras_albert.serving.server.models.config import model_in_folder
from keras_albert.serving.server.models.config import read_model_configs

TEXT = """
model_config_list {
  config {
    name: "a" base_path: "/models/a" model_platform: "tensorflow"
    model_version_policy { specific { versions: 1 versions: 2 } }
    version_labels { key: "stable" value: 1 }
  }
  config {
    name: "b" base_path: "/models/b" model_platform: "tensorflow"
    model_version_policy { latest { num_versions: 2 } }
  }
  config {
    name: "c" base_path: "/models/c"
    model_version_policy { all {} }
  }
  config { name: "d" base_path: "/models/d" }
}
"""


def test_a_file_is_read(tmp_path):
    path = tmp_path / "models.config"
    path.write_text(TEXT)

    assert read_model_configs(path) == [
        ModelConfig("a", "/models/a", 1, (1, 2), {"stable": 1}),
        ModelConfig("b", "/models/b", 2),
        ModelConfig("c", "/models/c", None),
        ModelConfig("d", "/models/d", 1),
    ]


@pytest.mark.parametrize(
    "text, error",
    [
        ("models {}", "no file of model configurations"),
        ("", "at least one model"),
        (TEXT.replace('"b"', '"a"'), "each once"),
        (TEXT.replace('"tensorflow"', '"onnx"'), "platform.*'onnx'"),
        (TEXT.replace('"a"', '"a/b"'), "'a/b'"),
    ],
)
def test_a_file_that_cannot_be_meant(tmp_path, text, error):
    path = tmp_path / "models.config"
    path.write_text(text)

    with pytest.raises(ValueError, match=error):
        read_model_configs(path)


def test_a_container_s_folders_may_lie_elsewhere(tmp_path):
    path = tmp_path / "models.config"
    path.write_text(
        'model_config_list { config { name: "a" base_path: "/models/reviews" '
        'version_labels { key: "stable" value: 1 } } }'
    )

    (config,) = read_model_configs(path, tmp_path)

    assert config == ModelConfig(
        "a", tmp_path / "reviews", labels={"stable": 1}
    )


def test_versions_are_folders_named_by_numbers(tmp_path):
    for name in ("1", "00000123", "v2", "1.0", "-3", ".unfinished-4", "９"):
        (tmp_path / name).mkdir()
    (tmp_path / "7").write_text("a file")

    assert find_versions(tmp_path) == {
        1: tmp_path / "1",
        123: tmp_path / "00000123",
    }


@pytest.mark.parametrize(
    "options, wanted",
    [
        ({}, {5}),
        ({"num_latest": 2}, {4, 5}),
        ({"num_latest": None}, {1, 4, 5}),
        ({"versions": (1, 9)}, {1}),
    ],
)
def test_which_versions_are_wanted(options, wanted):
    assert ModelConfig("m", "m", **options).wanted([5, 1, 4]) == wanted


def test_a_folder_is_a_model_of_its_name(tmp_path):
    (tmp_path / "reviews" / "3").mkdir(parents=True)

    found = model_in_folder(tmp_path / "reviews")

    assert found == ModelConfig("reviews", tmp_path / "reviews")
    assert model_in_folder(tmp_path / "reviews", "r").name == "r"


def test_folders_that_are_no_model_say_what_to_give(tmp_path):
    version = tmp_path / "reviews" / "3"
    version.mkdir(parents=True)
    (version / "saved_model.pb").touch()
    (tmp_path / "empty").mkdir()

    for folder, text in [
        (tmp_path / "none", "no folder"),
        (version, "one version.*reviews"),
        (tmp_path, "Did you mean .*reviews"),
        (tmp_path / "empty", "No version"),
    ]:
        with pytest.raises(FileNotFoundError, match=text):
            model_in_folder(folder)


def test_a_model_needs_a_name_and_a_version():
    with pytest.raises(ValueError, match="name of a model"):
        ModelConfig("", "m")
    with pytest.raises(ValueError, match="num_latest=0"):
        ModelConfig("m", "m", num_latest=0)
