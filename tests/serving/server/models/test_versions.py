import asyncio
from pathlib import Path

import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.models.config import ModelConfig
from keras_albert.serving.server.models.versions import KEPT_ENDS
from keras_albert.serving.server.models.versions import ModelVersions
from keras_albert.serving.server.models.versions import not_found


def folders(*numbers):
    return {number: Path(str(number)) for number in numbers}


def numbers(versions):
    return [version.number for version in versions]


def settle(to_load, to_unload):
    """What the server does with a plan, at once."""
    for version in to_load:
        version.state = "AVAILABLE"
    for version in to_unload:
        version.state = "END"


def test_an_old_version_leaves_when_a_new_one_is_there():
    model = ModelVersions(ModelConfig("m", "m"))
    settle(*model.plan(folders(1)))

    to_load, to_unload = model.plan(folders(1, 2))
    assert (numbers(to_load), to_unload) == ([2], [])
    to_load[0].state = "LOADING"
    assert model.plan(folders(1, 2)) == ([], [])
    assert model.find().number == 1

    to_load[0].state = "AVAILABLE"
    assert model.find().number == 2
    assert numbers(model.plan(folders(1, 2))[1]) == [1]


def test_a_version_that_fails_changes_nothing_until_it_is_replaced():
    model = ModelVersions(ModelConfig("m", "m"))
    settle(*model.plan(folders(1)))
    (failed,), _ = model.plan(folders(1, 2))
    failed.state, failed.error = "END", ServingError("NOT_FOUND", "x")

    assert model.plan(folders(1, 2)) == ([], [])
    assert model.find().number == 1
    assert [(v.number, v.state) for v in model.all()] == [
        *((2, "END"), (1, "AVAILABLE")),
    ]
    settle(*model.plan(folders(1)))
    assert numbers(model.plan(folders(1, 2))[0]) == [2]


def test_taking_a_version_away_rolls_back():
    model = ModelVersions(ModelConfig("m", "m"))
    for found in (folders(1), folders(1, 2), folders(1, 2)):
        settle(*model.plan(found))
    assert numbers([model.find()]) == [2]

    to_load, to_unload = model.plan(folders(1))
    assert (numbers(to_load), to_unload) == ([1], [])
    settle(to_load, to_unload)
    settle(*model.plan(folders(1)))
    assert model.find().number == 1


def test_without_any_folder_all_leave():
    model = ModelVersions(ModelConfig("m", "m"))
    settle(*model.plan(folders(1)))
    settle(*model.plan({}))

    with pytest.raises(ServingError, match=r"Latest\(m\)"):
        model.find()


def test_several_versions_at_a_time():
    model = ModelVersions(ModelConfig("m", "m", num_latest=None))
    settle(*model.plan(folders(3, 1)))

    assert model.find(1).number == 1
    assert model.find().number == 3
    with pytest.raises(ServingError, match=r"Specific\(m, 2\)"):
        model.find(2)


def test_ended_versions_are_not_remembered_for_ever():
    model = ModelVersions(ModelConfig("m", "m"))
    found = {}
    for number in range(1, KEPT_ENDS + 20):
        found[number] = Path("m")
        settle(*model.plan(found))
        settle(*model.plan(found))

    assert len(model.all()) <= KEPT_ENDS + 2


def test_a_version_is_drained_when_the_last_user_leaves():
    async def run():
        (version,), _ = ModelVersions(ModelConfig("m", "m")).plan(folders(1))
        await asyncio.wait_for(version.drained(), 1)
        with version.use():
            with version.use():
                pass
            waiting = asyncio.ensure_future(version.drained())
            await asyncio.sleep(0.01)
            assert not waiting.done()
        await asyncio.wait_for(waiting, 1)

    asyncio.run(run())


def test_what_is_not_found():
    assert not_found("m", 0).message.endswith("Specific(m, 0)")
    assert not_found("m").message.endswith("Latest(m)")
