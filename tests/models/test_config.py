import json
import math
from pathlib import Path

import numpy as np
import pytest

from keras_albert.models.config import AlbertConfig

SMALL = {
    "num_layers": 3,
    "num_heads": 2,
    "embedding_dim": 5,
    "hidden_dim": 14,
    "intermediate_dim": 23,
}


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["config.json", "config.yaml"])
def test_reads_json_and_yaml(tmp_path, name):
    path = write(tmp_path / name, {**SMALL, "sharing": "ffn"})

    config = AlbertConfig.from_file(path)

    assert config.hidden_dim == 14
    assert config.sharing == "ffn"


def test_reads_yaml_with_comments(tmp_path):
    path = tmp_path / "config.yml"
    lines = [f"{name}: {value}" for name, value in SMALL.items()]
    path.write_text("# a note\n" + "\n".join(lines))

    assert AlbertConfig.from_file(path) == AlbertConfig(**SMALL)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"hiden_dim": 8}, "Unknown field `hiden_dim`. Did you mean `hidden_"),
        ({"zzz": 8}, "Unknown field `zzz`. Known fields: vocabulary_size,"),
        ({"num_heads": 0}, "`num_heads`: .*greater than 0. Received: 0"),
        ({"sharing": "some"}, "`sharing`: .*'attention'.*Received: 'some'"),
        ({"hidden_dropout": 1}, "`hidden_dropout`: .*less than 1"),
        (
            {"hidden_dropout": False},
            "`hidden_dropout`: .*a number. Received: F",
        ),
        ({"num_layers": True}, "`num_layers`: .*a number. Received: True"),
        ({"num_layers": 2.5}, "`num_layers`: .*integer.* Received: 2.5"),
        ({"initializer_range": math.inf}, "`initializer_range`: .*finite"),
        ({"attention_dropout": math.nan}, "`attention_dropout`: .*finite"),
    ],
)
def test_wrong_field_is_named(tmp_path, change, message):
    path = write(tmp_path / "config.json", {**SMALL, **change})

    with pytest.raises(ValueError, match=f"config.json: {message}") as of_file:
        AlbertConfig.from_file(path)
    with pytest.raises(ValueError, match=f"^{message}") as of_fields:
        AlbertConfig(**{**SMALL, **change})
    assert "pydantic" not in f"{of_file.value} {of_fields.value}"


@pytest.mark.parametrize("name", ["config.json", "config.yaml"])
def test_a_file_in_another_encoding_is_named(tmp_path, name):
    path = tmp_path / name
    path.write_bytes("# für später".encode("latin-1"))

    with pytest.raises(ValueError, match=f"{name} is no UTF-8 text"):
        AlbertConfig.from_file(path)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SMALL), encoding="utf-8-sig")

    assert AlbertConfig.from_file(path) == AlbertConfig(**SMALL)


def test_numbers_of_numpy_are_taken():
    config = AlbertConfig(
        **{name: np.int64(value) for name, value in SMALL.items()},
        hidden_dropout=np.float32(0.5),
    )

    assert config == AlbertConfig(**SMALL, hidden_dropout=0.5)
    assert json.loads(config.model_dump_json())["num_layers"] == 3


def test_missing_field_is_named(tmp_path):
    path = write(tmp_path / "config.json", {"num_layers": 3})

    with pytest.raises(ValueError, match="`hidden_dim` is missing"):
        AlbertConfig.from_file(path)


@pytest.mark.parametrize(
    "text, message",
    [
        ("- a\n- b\n", "holds list"),
        ("", "holds NoneType"),
        ("1: 2\n", "Expected `name: value`"),
        ("a: [1\n", "cannot be read"),
    ],
)
def test_file_that_is_no_mapping(tmp_path, text, message):
    path = tmp_path / "config.yaml"
    path.write_text(text)

    with pytest.raises(ValueError, match=message):
        AlbertConfig.from_file(path)


def test_broken_json_is_named(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{")

    with pytest.raises(ValueError, match="config.json cannot be read"):
        AlbertConfig.from_file(path)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="arguments of `AlbertBack"):
        AlbertConfig.from_file(tmp_path / "none.yaml")


def test_vocabulary_size_comes_from_the_tokenizer():
    arguments = AlbertConfig(**SMALL).backbone_arguments(vocabulary_size=31)

    assert arguments["vocabulary_size"] == 31


def test_other_vocabulary_size_is_an_error():
    config = AlbertConfig(**SMALL, vocabulary_size=30)

    with pytest.raises(ValueError, match="=30, the tokenizer has 31"):
        config.backbone_arguments(vocabulary_size=31)
    assert config.backbone_arguments(30)["vocabulary_size"] == 30


def test_fields_and_defaults_are_those_of_the_backbone():
    import inspect

    from keras_albert.models.backbone import AlbertBackbone

    parameters = inspect.signature(AlbertBackbone.__init__).parameters
    backbone = {
        name: parameter.default
        for name, parameter in parameters.items()
        if name not in ("self", "name", "kwargs")
    }
    fields = {
        name: inspect.Parameter.empty if f.is_required() else f.default
        for name, f in AlbertConfig.model_fields.items()
    }
    assert fields.pop("vocabulary_size") is None
    backbone.pop("vocabulary_size")
    assert fields == backbone


def test_every_recipe_in_the_repository_is_accepted():
    recipes = sorted(
        (Path(__file__).parent.parent / "benchmarks").glob("*.yaml")
    )

    assert recipes
    for recipe in recipes:
        AlbertConfig.from_file(recipe).backbone_arguments(8000)
