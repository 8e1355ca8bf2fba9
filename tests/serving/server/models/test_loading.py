import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.metrics import Metrics
from keras_albert.serving.server.models import warm_up
from keras_albert.serving.server.models.loading import open_version
from keras_albert.serving.server.models.versions import Version


@pytest.fixture
def version(models_config):
    return Version("half", 1, models_config.parent / "half" / "1")


def test_a_version_is_loaded_and_counted(version):
    metrics = Metrics()
    model = open_version(version, metrics)
    model.close()

    assert model.signature("").name == "serving_default"
    path = f'model_path="{version.folder}"'
    assert f'load_attempt_count{{{path},status="success"}} 1' in metrics.page()


@pytest.mark.parametrize("error", [ServingError("INTERNAL", ""), KeyError()])
def test_a_model_that_does_not_warm_up_is_closed(version, monkeypatch, error):
    models = []

    def fail(model):
        models.append(model)
        raise error

    monkeypatch.setattr(warm_up, "warm_up", fail)
    with pytest.raises(type(error)):
        open_version(version, Metrics())

    (model,) = models
    assert model._closed


def test_what_is_no_model_is_counted_as_failed(tmp_path):
    metrics = Metrics()
    with pytest.raises(ServingError, match="NOT_FOUND"):
        open_version(Version("none", 1, tmp_path), metrics)

    assert f'path="{tmp_path}",status="fail"}} 1' in metrics.page()
