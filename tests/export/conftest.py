"""One export of each kind, made once for the tests that only read it."""

import shutil

import pytest

from keras_albert.export.saved_model import export_saved_model
from tests.export.tiny_classifiers import tiny_classifier

LABELS = {
    "sentence_piece": ["bad", "good", "no idea"],
    "word_piece": None,
}


@pytest.fixture(scope="session")
def exports(tmp_path_factory):
    """Function from the vocabulary's kind to `(model, folder)`, verified."""
    made = {}

    def export(kind):
        if kind not in made:
            model = tiny_classifier(kind, num_classes=3, labels=LABELS[kind])
            folder = tmp_path_factory.mktemp(kind) / "reviews"
            made[kind] = model, export_saved_model(model, folder)
        return made[kind]

    return export


@pytest.fixture
def export_copy(exports, tmp_path):
    """`(model, folder)` of an export that the test may damage."""
    model, folder = exports("sentence_piece")
    return model, shutil.copytree(folder, tmp_path / "1")
