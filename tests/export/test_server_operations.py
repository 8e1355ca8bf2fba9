"""The table of servable operations, held against the lists of real servers."""

import pytest
import tensorflow as tf

from keras_albert.export.server_operations import NEWER_CORE_OPERATIONS
from keras_albert.export.server_operations import TEXT_OPERATIONS
from keras_albert.export.server_operations import unservable_operations

# Defined by TF Text 2.12, but not linked into its `ops_lib`.
NOT_LINKED = {"TFText>RoundRobinGenerateMasks", "TFText>RoundRobinTrim"}


@pytest.fixture
def lists(shared_data):
    folder = shared_data.parent / "reference" / "tf_serving_ops"
    if not folder.is_dir():
        pytest.skip(f"needs the lists of operations in {folder}")

    def read(name):
        return set((folder / f"{name}.txt").read_text().split())

    return read


def test_text_operations_are_those_linked_by_the_server(lists):
    assert lists("tftext_ops_v2.12.1") - NOT_LINKED == TEXT_OPERATIONS
    assert lists("tftext_ops_v2.20.0") >= TEXT_OPERATIONS


def test_newer_core_operations_are_in_no_common_server(lists):
    servers = (
        lists("core_ops_2.18.1")
        & lists("core_ops_2.19.1")
        & lists("core_ops_2.20.0")
    )
    here = {name for name in dir(tf.raw_ops) if name[0].isupper()}

    assert here - servers == NEWER_CORE_OPERATIONS


@pytest.mark.parametrize(
    "name, is_core, is_refused",
    [
        ("MatMul", True, False),
        ("SentencepieceTokenizeOp", False, False),
        ("TFText>RoundRobinTrim", False, True),
        ("TFText>Utf8Binarize", False, True),
        ("SomeOtherLibrary>Op", False, True),
        ("XlaCallModule", True, True),
        ("PyFunc", True, True),
        ("DecodeWebP", True, True),
    ],
)
def test_verdicts(name, is_core, is_refused):
    expected = [name] if is_refused else []

    assert unservable_operations({name: is_core, "Add": True}) == expected
