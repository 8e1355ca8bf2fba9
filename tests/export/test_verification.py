"""The checks of an export: they pass on a good one, and each can fail."""

import json
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export import verification
from keras_albert.export.verification import check_texts
from keras_albert.export.verification import predict_saved_model
from keras_albert.export.verification import verify_saved_model
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import TEXTS

PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8]], "float32")
ROWS = ["one", "two"]


def encoded(labels, probabilities):
    """An answer as the fresh process would send it."""
    from keras_albert.export.fresh_process import encode

    answer = {
        "label": np.array([name.encode() for name in labels], object),
        "probabilities": np.asarray(probabilities),
    }
    return json.loads(json.dumps(encode(answer)))


@pytest.fixture
def reply(monkeypatch, tmp_path):
    """Good replies of a fresh process that is not run; a test may spoil them.

    `spoil["key"] = function` is applied to that part of the reply.
    """
    spoil = {}
    (tmp_path / "saved_model.pb").write_bytes(b"0" * 100)
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "data").write_bytes(b"0" * 1000)
    outputs = {
        "label": ["string", [-1]],
        "probabilities": ["float32", [-1, 2]],
    }

    def answer(call):
        import base64

        texts = [base64.b64decode(t) for t in [*call["inputs"].values()][0]]
        rows = [ROWS.index(text.decode()) for text in texts]
        return encoded([str(r) for r in rows], PROBABILITIES[rows])

    def run_fresh(path, calls, loaded_calls=None):
        found = {
            "signatures": {
                "serving_default": {
                    "inputs": {"text": ["string", [-1]]},
                    "outputs": dict(outputs),
                },
                "pair": {
                    "inputs": {
                        "text_a": ["string", [-1]],
                        "text_b": ["string", [-1]],
                    },
                    "outputs": dict(outputs),
                },
            },
            "operations": {"MatMul": True, "SentencepieceOp": False},
            "modules": [],
            "answers": [answer(call) for call in calls],
            "loaded_answers": [answer(call) for call in loaded_calls],
        }
        for key, function in spoil.items():
            found[key] = function(found[key])
        return found

    monkeypatch.setattr(verification, "_run_fresh", run_fresh)
    return spoil


def check(tmp_path, **options):
    verify_saved_model(tmp_path, ROWS, PROBABILITIES, **options)


def test_good_reply_passes(reply, tmp_path):
    check(
        tmp_path,
        text_pairs=[(row, "other") for row in ROWS],
        expected_pairs=PROBABILITIES,
        weight_bytes=1000,
    )


def changed_answer(number, labels, probabilities):
    def change(answers):
        answers[number] = encoded(labels, probabilities)
        return answers

    return change


ONE = PROBABILITIES[:1]


@pytest.mark.parametrize(
    "key, change, message",
    [
        ("modules", lambda _: ["keras_hub"], "more than TensorFlow.*keras_hub"),
        (
            "operations",
            lambda _: {"TFText>RoundRobinTrim": False, "XlaCallModule": True},
            "no implementation.*RoundRobinTrim, XlaCallModule",
        ),
        (
            "signatures",
            lambda s: {"serving_default": s["serving_default"]},
            "'pair' should be .*Found: None",
        ),
        (
            "signatures",
            lambda s: {**s, "serving_default": s["pair"]},
            "'serving_default' should be",
        ),
        (
            "answers",
            changed_answer(0, ["0"], ONE),
            "batch of 0: expected 0 labels",
        ),
        (
            "answers",
            changed_answer(1, ["0"], [[np.nan, 1.0]]),
            "batch of 1: the probabilities are not finite",
        ),
        (
            "answers",
            changed_answer(1, ["0"], ONE + [[-3e-5, 3e-5]]),
            "batch of 1: the probabilities differ .* by 3e-05",
        ),
        (
            "answers",
            changed_answer(1, ["1"], ONE),
            r"the labels \['1'\] are not .* \['0'\]",
        ),
        (
            "answers",
            changed_answer(1, ["0", "0"], ONE),
            "expected 1 labels .* found 2",
        ),
        (
            "loaded_answers",
            changed_answer(2, ["0", "1", "0"], PROBABILITIES[[0, 0, 0]]),
            "batch of 3: the probabilities differ",
        ),
    ],
)
def test_each_check_can_fail(reply, tmp_path, key, change, message):
    reply[key] = change

    with pytest.raises(ValueError, match=message):
        check(tmp_path)


def test_tolerance_can_be_widened(reply, tmp_path):
    reply["answers"] = changed_answer(1, ["0"], ONE + [[-3e-3, 3e-3]])

    check(tmp_path, tolerance=1e-2)


@pytest.mark.parametrize("weight_bytes", [1001, 500])
def test_weights_must_stand_in_the_file_once(
    reply, tmp_path, weight_bytes, monkeypatch
):
    monkeypatch.setattr(verification, "INDEX_BYTES", 100)

    with pytest.raises(ValueError, match="stores 1000 bytes of variables"):
        check(tmp_path, weight_bytes=weight_bytes)


def test_whole_folder_has_a_limit(reply, tmp_path, monkeypatch):
    monkeypatch.setattr(verification, "OVERHEAD_BYTES", 0)
    check(tmp_path, weight_bytes=1000)

    (tmp_path / "saved_model.pb").write_bytes(b"0" * 200)

    with pytest.raises(ValueError, match="takes 1200 bytes for 1000"):
        check(tmp_path, weight_bytes=1000)
    check(tmp_path, weight_bytes=1000, tokenizer_bytes=40)


def test_all_batch_sizes_and_all_rows_are_checked():
    rows = [(str(i),) for i in range(30)]
    expected = np.arange(60).reshape(30, 2)

    calls, answers = verification._planned_calls(
        {"serving_default": (rows, expected)}
    )

    assert [len(a) for a in answers] == [0, 1, 3, 17, 9]
    np.testing.assert_array_equal(np.concatenate(answers), expected)
    assert [len(c["inputs"]["text"]) for c in calls] == [0, 1, 3, 17, 9]


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


@pytest.mark.parametrize(
    "rows, expected",
    [
        (["a"], PROBABILITIES),
        (["a", "b"], [0.5, 0.5]),
        ([], np.zeros((0, 2))),
    ],
)
def test_expected_probabilities_must_fit(rows, expected, tmp_path):
    with pytest.raises(ValueError, match="one row for each of `texts`"):
        verify_saved_model(tmp_path, rows, expected)


def test_folder_without_a_saved_model(tmp_path):
    with pytest.raises(FileNotFoundError, match="saved_model.pb is missing"):
        verify_saved_model(tmp_path, ROWS, PROBABILITIES)
    with pytest.raises(FileNotFoundError, match="saved_model.pb is missing"):
        predict_saved_model(tmp_path, ROWS)


def test_a_changed_weight_is_found(export_copy):
    model, folder = export_copy
    expected = softmax(model.predict(TEXTS, verbose=0))
    data = next(folder.glob("variables/variables.data*"))
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    shapes = reader.get_variable_to_shape_map()
    bias = [
        reader.get_tensor(name).tobytes()
        for name, shape in shapes.items()
        if shape == [model.num_classes]
    ]
    assert len(bias) == 1
    other = np.frombuffer(bias[0], "float32") + np.float32([0.01, 0, 0])
    data.write_bytes(
        data.read_bytes().replace(bias[0], other.astype("float32").tobytes())
    )

    with pytest.raises(ValueError, match="differ from the Python|DataLoss"):
        verify_saved_model(folder, TEXTS, expected, labels=model.labels)


def test_a_broken_file_is_told_in_one_line(export_copy):
    _, folder = export_copy
    (folder / "saved_model.pb").write_bytes(b"\x00not a graph")

    with pytest.raises(ValueError, match="does not run in a fresh") as caught:
        predict_saved_model(folder, TEXTS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "stderr, line",
    [
        ("noise\nValueError: bad\n", "ValueError: bad"),
        (
            "tensorflow.python.framework.errors_impl.NotFoundError: no op\n"
            "\tdetail\nI0000 shutting down\n",
            "tensorflow.python.framework.errors_impl.NotFoundError: no op",
        ),
        ("killed\n", "killed"),
        ("", "it ended without a message."),
    ],
)
def test_last_error(stderr, line):
    assert verification.last_error(stderr) == line


def test_the_process_has_no_package_of_ours(monkeypatch, tmp_path):
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 1, "", "stop")

    monkeypatch.setattr(verification.subprocess, "run", run)
    (tmp_path / "saved_model.pb").touch()

    with pytest.raises(ValueError, match="stop"):
        predict_saved_model(tmp_path, ROWS)
    assert commands[0][1] == "-P"
    assert commands[0][2].endswith("fresh_process.py")
