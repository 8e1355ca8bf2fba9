"""Reading the graph file of a SavedModel."""

import pytest
import tensorflow as tf

from keras_albert.export.saved_graph import describe_operations
from keras_albert.export.saved_graph import describe_signature
from keras_albert.export.saved_graph import folder_size
from keras_albert.export.saved_graph import read_graph
from keras_albert.export.saved_graph import signatures_of


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "text")],
        autograph=False,
    )
    def lengths(text):
        return {"length": tf.strings.length(text)}

    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], tf.float32, "x")],
        jit_compile=True,
    )
    def compiled(x):
        return {"y": x + 1.0}

    module = tf.Module()
    for name, functions in (
        ("plain", {"lengths": lengths}),
        ("compiled", {"compiled": compiled}),
    ):
        tf.saved_model.save(module, folder / name, signatures=functions)
    return lambda name: read_graph(folder / name)


def test_signatures(graph):
    found = {
        name: describe_signature(signature)
        for name, signature in signatures_of(graph("plain")).items()
    }

    assert found == {
        "lengths": {
            "inputs": {"text": ["string", [-1]]},
            "outputs": {"length": ["int32", [-1]]},
        }
    }


def test_operations_of_functions_are_listed(graph):
    operations = describe_operations(graph("plain"))

    assert operations["StringLength"]
    assert "XlaLaunch" not in operations
    assert not [name for name in operations if name.startswith("__inference")]


def test_compiled_functions_count_as_xla(graph):
    assert "XlaLaunch" in describe_operations(graph("compiled"))


def test_no_graph(tmp_path):
    with pytest.raises(FileNotFoundError, match="saved_model.pb is missing"):
        read_graph(tmp_path)


@pytest.mark.parametrize("content", [b"\x00not a graph", b""])
def test_damaged_graph(tmp_path, content):
    (tmp_path / "saved_model.pb").write_bytes(content)

    with pytest.raises(ValueError, match="saved_model.pb is damaged"):
        read_graph(tmp_path)


def test_size_counts_all_files(tmp_path):
    (tmp_path / "a").write_bytes(b"0" * 10)
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "d").write_bytes(b"0" * 5)

    assert folder_size(tmp_path) == 15
