import sys

import pytest

from keras_albert.serving.server.extra import import_serving_api


def test_messages_are_imported():
    assert import_serving_api("apis.predict_pb2").PredictRequest


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_serving", None)

    with pytest.raises(
        ImportError, match=r"`tensorflow_serving.*keras-albert\[serving\]"
    ):
        import_serving_api("no_such_module")
