import sys

import pytest

from keras_albert.serving.extra import import_extra
from keras_albert.serving.extra import import_serving_api


def test_modules_are_imported():
    assert import_extra("json").dumps([1]) == "[1]"
    assert import_serving_api("apis.predict_pb2").PredictRequest


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)

    with pytest.raises(
        ImportError, match=r"`aiohttp`.*keras-albert\[serving\]"
    ):
        import_extra("aiohttp")
