"""Versions come and go while requests are held; nothing is lost."""

import asyncio
import shutil
import threading

import numpy as np
import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.calls import predict_call
from keras_albert.serving.server.metrics import Metrics
from keras_albert.serving.server.models import models as models_module
from keras_albert.serving.server.models.config import ModelConfig
from keras_albert.serving.server.models.loading import open_version
from keras_albert.serving.server.models.models import Models


@pytest.fixture
def half(models_config, tmp_path):
    """Function that puts a version of `half` into a folder of its own."""

    def put(source, number):
        target = tmp_path / "half" / str(number)
        target.parent.mkdir(exist_ok=True)
        unfinished = tmp_path / "unfinished"
        shutil.copytree(models_config.parent / "half" / source, unfinished)
        unfinished.rename(target)
        return target

    put("1", 1)
    return put


def answer(version):
    call = predict_call(
        version.model.signature(""), {"x": np.zeros(1, "float32")}
    )
    return float(version.model.run(call.signature, call.tensors, ["y"])["y"][0])


def check_refused(models, text, *asked):
    with (
        pytest.raises(ServingError, match=text),
        models.use("half", *asked),
    ):
        pass


async def until(condition, seconds=20):
    async def wait():
        while not condition():
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), seconds)


def with_models(configs, test, **options):
    async def run():
        models = Models(configs, Metrics(), **{"poll_seconds": 0.05, **options})
        await models.start()
        try:
            await test(models)
        finally:
            await models.close()

    asyncio.run(run())


def states(models):
    return {v.number: v.state for v in models.versions("half")}


def test_a_new_version_comes_in_and_the_old_one_is_drained(half, tmp_path):
    async def test(models):
        assert states(models) == {1: "AVAILABLE"}
        with models.use("half") as old:
            half("2", 2)
            await until(lambda: states(models).get(2) == "AVAILABLE")
            with models.use("half") as new:
                assert (new.number, answer(new)) == (2, 3.0)
            await until(lambda: states(models)[1] == "UNLOADING")
            check_refused(models, r"Specific\(half, 1\)", 1)
            await asyncio.sleep(0.2)
            assert answer(old) == 2.0  # who holds it still gets answers
        await until(lambda: states(models)[1] == "END")

        shutil.rmtree(tmp_path / "half" / "2")  # a rollback
        await until(lambda: states(models)[1] == "AVAILABLE")
        await until(lambda: states(models).get(2, "END") == "END")
        with models.use("half") as version:
            assert answer(version) == 2.0

    with_models([ModelConfig("half", tmp_path / "half")], test)


def test_a_bad_version_is_tried_again_and_the_old_one_stays(half, tmp_path):
    async def test(models):
        bad = tmp_path / "half" / "2"
        bad.mkdir()
        await until(lambda: states(models).get(2) == "END")
        (failed,) = models.versions("half", 2)
        assert failed.error.code == "NOT_FOUND"
        with models.use("half") as version:
            assert version.number == 1
        name = ":tensorflow:cc:saved_model:load_attempt_count"
        line = f'{name}{{model_path="{bad}",status="fail"}} 3'
        assert line in models._metrics.page()

        bad.rmdir()
        await until(lambda: 2 not in states(models))
        half("2", 2)
        await until(lambda: states(models).get(2) == "AVAILABLE")

    with_models(
        [ModelConfig("half", tmp_path / "half")],
        test,
        load_retries=2,
        retry_seconds=0.01,
    )


def test_labels_and_all_versions(half, tmp_path):
    half("2", 2)
    config = ModelConfig(
        "half", tmp_path / "half", None, (), {"stable": 1, "next": 3}
    )

    async def test(models):
        with models.use("half", label="stable") as version:
            assert version.number == 1
        for number, label, text in [
            (None, "none", "INVALID_ARGUMENT.*label: none"),
            (None, "next", r"Specific\(half, 3\)"),
            (9, None, r"Specific\(half, 9\)"),
        ]:
            check_refused(models, text, number, label)

    with_models([config], test)


def test_other_models_may_be_asked_for(half, tmp_path):
    shutil.copytree(tmp_path / "half", tmp_path / "other")
    first = ModelConfig("half", tmp_path / "half")
    second = ModelConfig("other", tmp_path / "other")

    async def test(models):
        await models.replace([first, second])
        assert models.names == ["half", "other"]
        with pytest.raises(ServingError, match="FAILED_PRECONDITION"):
            await models.replace([ModelConfig("x", tmp_path / "none")])
        assert models.names == ["half", "other"]
        with models.use("half") as held:
            await models.replace([second])
            assert answer(held) == 2.0
        with pytest.raises(ServingError, match="Could not find any versions"):
            models.versions("half")
        await models.replace(
            [ModelConfig("other", tmp_path / "other", labels={"a": 1})]
        )
        with models.use("other", label="a") as version:
            assert version.number == 1

    with_models([first], test)


@pytest.fixture
def opened(monkeypatch):
    """The versions that are opened from now on, in order."""
    versions = []

    def noted(version, metrics):
        versions.append(version)
        return open_version(version, metrics)

    monkeypatch.setattr(models_module, "open_version", noted)
    return versions


def test_a_list_that_is_refused_changes_nothing(half, opened, tmp_path):
    shutil.copytree(tmp_path / "half", tmp_path / "other")

    async def test(models):
        with pytest.raises(ServingError, match="FAILED_PRECONDITION"):
            await models.replace(
                [
                    ModelConfig("half", tmp_path / "half", labels={"a": 1}),
                    ModelConfig("other", tmp_path / "other"),
                    ModelConfig("x", tmp_path / "none"),
                ]
            )
        check_refused(models, "label: a", None, "a")
        _, other = opened
        await until(lambda: other.state == "END")

    with_models([ModelConfig("half", tmp_path / "half")], test)


def test_of_two_lists_at_a_time_the_later_one_stays(half, opened, tmp_path):
    for name in ("other", "third"):
        shutil.copytree(tmp_path / "half", tmp_path / name)
    first, second, third = (
        ModelConfig(n, tmp_path / n) for n in ("half", "other", "third")
    )

    async def test(models):
        await asyncio.gather(
            models.replace([first, second]), models.replace([first, third])
        )
        assert models.names == ["half", "third"]
        _, other, third_version = opened
        await until(lambda: other.state == "END")
        assert third_version.state == "AVAILABLE"

    with_models([first], test)


def test_who_asked_for_other_models_may_go_away(half, tmp_path):
    shutil.copytree(tmp_path / "half", tmp_path / "other")

    async def test(models):
        asking = asyncio.create_task(
            models.replace([ModelConfig("other", tmp_path / "other")])
        )
        await asyncio.sleep(0.01)
        asking.cancel()
        await until(lambda: models.names == ["other"])

    with_models([ModelConfig("half", tmp_path / "half")], test)


def test_a_version_that_comes_too_late_does_not_stay(half, tmp_path):
    shutil.copytree(tmp_path / "half", tmp_path / "other")
    both = [ModelConfig(n, tmp_path / n) for n in ("half", "other")]

    async def test(models):
        gate = threading.Event()
        models._loader.submit(gate.wait)
        half("2", 2)
        await until(lambda: states(models).get(2) == "LOADING")
        (late,) = models.versions("half", 2)
        await models.replace(both[1:])
        gate.set()
        await until(lambda: late.state == "END")
        assert late.model is None

    with_models(both, test)


def test_a_folder_that_is_away_for_a_moment_changes_nothing(half, tmp_path):
    async def test(models):
        (tmp_path / "half").rename(tmp_path / "away")
        await asyncio.sleep(0.2)
        with models.use("half") as version:
            assert answer(version) == 2.0
        (tmp_path / "away").rename(tmp_path / "half")

    with_models([ModelConfig("half", tmp_path / "half")], test)


def test_a_server_does_not_start_without_its_models(half, tmp_path):
    (tmp_path / "bad" / "1").mkdir(parents=True)
    (tmp_path / "empty").mkdir()

    async def never(models):
        raise AssertionError("started")

    for name, text in [
        ("bad", "Version 1 of the model bad .*saved_model.pb"),
        ("empty", "No version of the model empty"),
        ("none", "folder of the model none cannot be read.*No such file"),
    ]:
        with pytest.raises(ValueError, match=text):
            with_models([ModelConfig(name, tmp_path / name)], never)
