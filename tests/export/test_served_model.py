"""The file of an export: its answers, its operations, its tables."""

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.export.saved_graph import describe_operations
from keras_albert.export.saved_graph import read_graph
from keras_albert.export.server_operations import unservable_operations
from tests.export.served_answers import answers
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import TEXTS

KINDS = ["sentence_piece", "word_piece", "pretrainer"]


@pytest.mark.parametrize("kind", KINDS[:2])
def test_answers_are_the_softmax_of_predict(exports, kind):
    model, folder = exports(kind)
    expected = softmax(model.predict(TEXTS, verbose=0))

    found = answers(folder, text=TEXTS)

    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    assert found["probabilities"].dtype == np.float32
    # Texts tell apart, by far more than the tolerance.
    assert np.ptp(expected, axis=0).max() > 0.01
    names = [name.encode() for name in model.labels or ["0", "1", "2"]]
    assert found["label"].tolist() == [names[i] for i in expected.argmax(-1)]


def test_pairs_are_packed_in_order(exports):
    model, folder = exports("sentence_piece")
    other = TEXTS[::-1]
    expected = softmax(model.predict((TEXTS, other), verbose=0))

    found = answers(folder, text_a=TEXTS, text_b=other)
    swapped = answers(folder, text_a=other, text_b=TEXTS)

    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
    assert np.abs(swapped["probabilities"] - expected).max() > 1e-3


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
    operations = describe_operations(read_graph(exports(kind)[1]))

    assert unservable_operations(operations) == []


def test_stored_operations_are_those_of_the_oldest_server(exports, shared_data):
    lists = shared_data.parent / "reference" / "tf_serving_ops"
    if not lists.is_dir():
        pytest.skip(f"needs the lists of operations in {lists}")
    core = set((lists / "core_ops_2.18.1.txt").read_text().split())
    text = set((lists / "tftext_ops_v2.12.1.txt").read_text().split())

    for kind in KINDS:
        used = set(describe_operations(read_graph(exports(kind)[1])))
        assert used - core <= text - {"TFText>RoundRobinTrim"}


@pytest.mark.parametrize("kind", KINDS)
def test_large_tables_stand_in_the_file_once(exports, kind):
    _, folder = exports(kind)
    constants = [
        node.attr["value"].tensor.tensor_content
        for function in read_graph(folder).graph_def.library.function
        for node in function.node_def
        if node.op == "Const"
    ]
    large = [c for c in constants if len(c) > 5000]

    assert large
    assert len(large) == len(set(large))


def test_layers_stand_in_the_file_once(exports):
    model, folder = exports("pretrainer")
    softmaxes = [
        function.signature.name
        for function in read_graph(folder).graph_def.library.function
        for node in function.node_def
        if node.op == "Softmax"
    ]

    # One a layer call, in one function; one for masks, one for the order.
    assert len(softmaxes) == model.backbone.num_layers + 2, softmaxes
    assert len(set(softmaxes)) == 3
