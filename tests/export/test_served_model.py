"""The graph of an export: its signatures, its operations, its size."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export import served_model
from keras_albert.export.saved_model import export_saved_model
from keras_albert.export.server_operations import unservable_operations
from keras_albert.models.text_classifier import AlbertTextClassifier
from tests.export.served_answers import answers
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import TEXTS
from tests.export.tiny_classifiers import tiny_classifier

KINDS = ["sentence_piece", "word_piece"]


def graph_of(folder):
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    return saved.meta_graphs[0].graph_def


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_softmax_of_predict(exports, kind):
    model, folder = exports(kind)
    expected = softmax(model.predict(TEXTS, verbose=0))

    found = answers(folder, text=TEXTS)

    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    assert found["probabilities"].dtype == np.float32
    # Texts tell apart, by far more than the tolerance.
    assert np.ptp(expected, axis=0).max() > 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_packed_in_order(exports, kind):
    model, folder = exports(kind)
    other = TEXTS[::-1]
    expected = softmax(model.predict((TEXTS, other), verbose=0))

    found = answers(folder, text_a=TEXTS, text_b=other)
    swapped = answers(folder, text_a=other, text_b=TEXTS)

    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    assert np.abs(swapped["probabilities"] - expected).max() > 1e-3


@pytest.mark.parametrize(
    "kind, names",
    [
        ("sentence_piece", [b"bad", b"good", b"no idea"]),
        ("word_piece", [b"0", b"1", b"2"]),
    ],
)
def test_labels(exports, kind, names):
    model, folder = exports(kind)
    best = model.predict(TEXTS, verbose=0).argmax(-1)

    found = answers(folder, text=TEXTS)

    assert found["label"].tolist() == [names[i] for i in best]


@pytest.mark.parametrize("shape", [[], [3, 1], [1, 3]])
def test_any_shape_that_a_client_sends(exports, shape):
    from tensorflow.core.protobuf import config_pb2

    _, folder = exports("sentence_piece")
    texts = np.array(TEXTS[: max(1, np.prod(shape, dtype=int))], object)
    graph = tf.Graph()

    with graph.as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
        signature = loaded.signature_def["serving_default"]
        # `session.run` in Python would check the shape; C++ does not.
        classify = session._make_callable_from_options(
            config_pb2.CallableOptions(
                feed=[signature.inputs["text"].name],
                fetch=[signature.outputs["probabilities"].name],
            )
        )
        (found,) = classify(texts.reshape(shape))

    expected = answers(folder, text=list(texts))["probabilities"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_runs_on_every_server(exports, kind):
    from keras_albert.export.fresh_process import describe_operations

    _, folder = exports(kind)
    operations = describe_operations(folder)

    assert unservable_operations(operations) == []
    assert not operations.keys() & {"While", "StatelessWhile"}


def test_stored_operations_are_those_of_the_oldest_server(exports, shared_data):
    from keras_albert.export.fresh_process import describe_operations

    lists = shared_data.parent / "reference" / "tf_serving_ops"
    if not lists.is_dir():
        pytest.skip(f"needs the lists of operations in {lists}")
    core = set((lists / "core_ops_2.18.1.txt").read_text().split())
    text = set((lists / "tftext_ops_v2.12.1.txt").read_text().split())

    for kind in KINDS:
        used = set(describe_operations(exports(kind)[1]))
        assert used - core <= text - {"TFText>RoundRobinTrim"}


def test_large_tables_stand_in_the_file_once(exports):
    _, folder = exports("sentence_piece")
    constants = [
        node.attr["value"].tensor.tensor_content
        for function in graph_of(folder).library.function
        for node in function.node_def
        if node.op == "Const"
    ]
    large = [c for c in constants if len(c) > 5000]

    assert large
    assert len(large) == len(set(large))


def test_loops_are_unrolled():
    looped = tiny_classifier("word_piece", num_classes=2, unroll=False)
    expected = looped.predict(TEXTS, verbose=0)

    model = served_model.unrolled(looped)

    assert model.backbone.unroll
    assert model.preprocessor is looped.preprocessor
    np.testing.assert_allclose(
        model.predict(TEXTS, verbose=0), expected, atol=1e-6
    )
    assert served_model.unrolled(model) is model


def test_probabilities_of_a_softmax_model_stay():
    model = tiny_classifier("word_piece", num_classes=2)
    logits = model.predict(TEXTS, verbose=0)
    normalised = AlbertTextClassifier(
        model.backbone,
        num_classes=2,
        preprocessor=model.preprocessor,
        activation="softmax",
    )
    normalised.set_weights(model.get_weights())
    inputs = keras.tree.map_structure(tf.constant, model.preprocessor(TEXTS))

    found = served_model._answer_function(normalised)(inputs)

    np.testing.assert_allclose(
        found["probabilities"], softmax(logits), atol=1e-5
    )


def test_other_activations_are_refused(tmp_path):
    model = tiny_classifier("word_piece", num_classes=2, activation="sigmoid")

    with pytest.raises(ValueError, match="activation='sigmoid'"):
        export_saved_model(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "lengths, width", [([3, 5], 16), ([0], 16), ([40], 19)]
)
def test_rows_are_no_longer_than_needed(lengths, width):
    preprocessor = tiny_classifier("word_piece", num_classes=2).preprocessor
    tokens = tf.RaggedTensor.from_row_lengths(
        tf.fill([sum(lengths)], 5), lengths
    )

    inputs = served_model.model_inputs(preprocessor, [tokens])

    assert {tuple(v.shape) for v in inputs.values()} == {(len(lengths), width)}
