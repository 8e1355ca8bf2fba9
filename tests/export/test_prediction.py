import numpy as np
import pytest

from keras_albert.export.prediction import predict_saved_model
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import TEXTS


def test_prediction_in_a_fresh_process(exports):
    model, folder = exports("sentence_piece")
    expected = softmax(model.predict((TEXTS, TEXTS[::-1]), verbose=0))

    labels, probabilities = predict_saved_model(folder, TEXTS, TEXTS[::-1])

    assert labels == [model.labels[i] for i in expected.argmax(1)]
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)


def test_prediction_needs_labels(exports):
    with pytest.raises(ValueError, match="num_masks, .*no labels. Export a cl"):
        predict_saved_model(exports("pretrainer")[1], TEXTS)


@pytest.mark.parametrize(
    "columns, message",
    [
        (["abc"], "a list of texts. Received: str"),
        ([["a"], ["b", "c"]], "1 texts and 2 second texts"),
        ([["a", 5]], "Received: 5 of type int"),
    ],
)
def test_texts_that_do_not_fit_are_refused(tmp_path, columns, message):
    with pytest.raises(ValueError, match=message):
        predict_saved_model(tmp_path, *columns)
