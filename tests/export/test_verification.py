"""The checks of an export: they pass on a good one, and each can fail."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export import verification
from keras_albert.export.opening import served_task
from keras_albert.export.python_answers import PythonAnswers
from keras_albert.export.verification import check_operations
from keras_albert.export.verification import check_size
from keras_albert.export.verification import check_texts
from keras_albert.export.verification import planned_rows
from keras_albert.export.verification import verify_saved_model
from keras_albert.export.warm_up_records import RECORDS_FILE
from keras_albert.export.warm_up_records import write_warm_up_records
from tests.export.tiny_classifiers import TEXTS

PAIRS = list(zip(TEXTS, TEXTS[::-1], strict=True))


@pytest.fixture
def verify(export_copy):
    """Function that verifies a copy of an export: `verify(**changes)`."""
    model, folder = export_copy
    task = served_task(model, model.preprocessor)
    options = {
        "signatures": task.signatures(),
        "expected": PythonAnswers(task, model, model.preprocessor).answers(
            TEXTS, PAIRS
        ),
        "weight_bytes": 4 * model.count_params(),
        "tokenizer_bytes": 2000,
        "dtype": "float32",
    }
    return lambda **changes: verify_saved_model(
        folder, **{**options, **changes}
    )


def test_a_changed_weight_is_found(export_copy, verify):
    model, folder = export_copy
    data = next(folder.glob("variables/variables.data*"))
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    shapes = reader.get_variable_to_shape_map()
    (bias,) = [
        reader.get_tensor(name).tobytes()
        for name, shape in shapes.items()
        if shape == [model.num_classes]
    ]
    other = np.frombuffer(bias, "float32") + np.float32([0.01, 0, 0])
    data.write_bytes(
        data.read_bytes().replace(bias, other.astype("float32").tobytes())
    )

    with pytest.raises(ValueError, match="differs from the Pyth|not match"):
        verify()


def test_a_signature_that_is_missing_or_different(verify):
    task_signatures = {"serving_default": {"inputs": {}, "outputs": {}}}

    with pytest.raises(ValueError, match="'classify' should be None. Found"):
        verify(signatures=task_signatures)


def test_a_warm_up_request_that_cannot_be_answered(export_copy, verify):
    _, folder = export_copy
    signatures = {"other": {"inputs": {"text": ["string", [-1]]}}}
    write_warm_up_records(folder, signatures, "reviews")

    with pytest.raises(ValueError, match="has no signature 'other'"):
        verify()


def test_all_is_asked_for(verify, monkeypatch):
    """Batches of every signature, warm-up requests, and rows of padding."""
    asked = []

    def call_signatures(folder, calls):
        asked.extend(calls)
        raise ValueError("enough")

    monkeypatch.setattr(verification, "call_signatures", call_signatures)

    with pytest.raises(ValueError, match="enough"):
        verify()
    sizes = {}
    for name, inputs in asked:
        size = len(next(iter(inputs.values())))
        sizes.setdefault(name, []).append(size)
    # The sizes of the checks, then those of the warm-up requests.
    assert sizes["serving_default"] == [0, 1, 3, 17, 1, 1, 8, 32]
    assert sizes["pair"] == [0, 3, 1, 1, 8, 32]
    assert sizes.keys() == {
        *("serving_default", "pair", "tokens", "classify", "embed")
    }
    assert not asked[-1][1]["padding_mask"].any()


@pytest.mark.parametrize(
    "name, count, sizes",
    [
        ("serving_default", 30, [0, 1, 3, 17, 9]),
        ("serving_default", 5, [0, 1, 3, 17, 1]),
        ("pair", 10, [0, 3, 7]),
    ],
)
def test_all_rows_are_in_some_batch(name, count, sizes):
    batches = planned_rows(name, count)

    assert [len(rows) for rows in batches] == sizes
    assert {row for rows in batches for row in rows} == set(range(count))


def test_operations_that_a_server_lacks():
    check_operations({"MatMul": True, "SentencepieceOp": False})

    with pytest.raises(ValueError, match="RoundRobinTrim, XlaCallModule"):
        check_operations(
            {"TFText>RoundRobinTrim": False, "XlaCallModule": True}
        )


@pytest.fixture
def sized(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"0" * 100)
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "data").write_bytes(b"0" * 1000)
    return tmp_path


@pytest.mark.parametrize("weight_bytes", [1001, 500])
def test_weights_must_stand_in_the_file_once(sized, weight_bytes, monkeypatch):
    monkeypatch.setattr(verification, "INDEX_BYTES", 100)

    with pytest.raises(ValueError, match="stores 1000 bytes of variables"):
        check_size(sized, weight_bytes, 0)


def test_whole_folder_has_a_limit(sized, monkeypatch):
    monkeypatch.setattr(verification, "OVERHEAD_BYTES", 0)
    check_size(sized, 1000, 0)

    (sized / "saved_model.pb").write_bytes(b"0" * 200)

    with pytest.raises(ValueError, match="takes 1200 bytes for 1000"):
        check_size(sized, 1000, 0)
    check_size(sized, 1000, 40)


def test_odd_strings_are_among_the_checked():
    texts, pairs = check_texts(["mine"])

    assert texts[0] == "mine"
    assert "" in texts
    assert any(text.isspace() for text in texts[1:])
    assert any(len(text) >= 10_000 for text in texts)
    with pytest.raises(UnicodeDecodeError):
        b"".join(t for t in texts if isinstance(t, bytes)).decode()
    assert len(pairs) == len(texts)
    assert all(a != b for a, b in pairs)


def test_exports_hold_warm_up_requests(exports):
    assert (exports("word_piece")[1] / RECORDS_FILE).is_file()
