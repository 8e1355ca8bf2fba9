"""One export of each kind, made once for the tests that only read it."""

import shutil

import pytest

from keras_albert.export.saved_model import export_model
from tests.export.tiny_classifiers import tiny_classifier
from tests.export.tiny_classifiers import tiny_pretrainer

LABELS = {
    "sentence_piece": ["bad", "good", "no idea"],
    "word_piece": None,
}


@pytest.fixture(scope="session")
def made_exports(tmp_path_factory):
    """Function from a kind to `(model, Export)`, verified.

    The kind is a vocabulary's, for classifiers, or `"pretrainer"`.
    """
    made = {}

    def export(kind):
        if kind not in made:
            model = _model(kind)
            folder = tmp_path_factory.mktemp(kind) / "reviews"
            made[kind] = model, export_model(model, folder)
        return made[kind]

    return export


def _model(kind):
    if kind == "pretrainer":
        return tiny_pretrainer("word_piece")
    return tiny_classifier(kind, num_classes=3, labels=LABELS[kind])


@pytest.fixture(scope="session")
def exports(made_exports):
    """Function from a kind to `(model, folder)` of its verified export."""

    def export(kind):
        model, made = made_exports(kind)
        return model, made.path

    return export


@pytest.fixture
def export_copy(exports, tmp_path):
    """`(model, folder)` of an export that the test may damage."""
    model, folder = exports("sentence_piece")
    return model, shutil.copytree(folder, tmp_path / "1")


@pytest.fixture(scope="session")
def token_exports(tmp_path_factory):
    """Function from kind and format to `(model, preprocessor, export)`."""
    from tests.export.token_exports import TokenExports

    return TokenExports(tmp_path_factory.mktemp("token_exports"))
