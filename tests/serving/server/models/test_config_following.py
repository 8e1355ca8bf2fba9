import asyncio
import contextlib

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.models.config import ModelConfig
from keras_albert.serving.server.models.config import read_model_configs
from keras_albert.serving.server.models.config_following import follow_configs


def text(name):
    return (
        f'model_config_list {{ config {{ name: "{name}" base_path: "/m" }} }}'
    )


class Server:
    """Remembers what it took; refuses the model `late` twice."""

    def __init__(self):
        self.took = []
        self.refusals = 2

    async def reload(self, configs):
        if configs[0].name == "late" and self.refusals:
            self.refusals -= 1
            raise ServingError("FAILED_PRECONDITION", "does not load")
        self.took.append(configs)


def follow(path, contents, taken):
    """What a server takes of a file that changes while it is followed."""
    server = Server()

    async def run():
        task = asyncio.create_task(
            follow_configs(
                server, lambda: read_model_configs(path), 0.02, taken
            )
        )
        for content in contents:
            if content is None:
                path.unlink()
            else:
                path.write_text(content)
            await asyncio.sleep(0.15)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())
    return [config.name for (config,) in server.took]


def test_changes_are_taken_and_mistakes_change_nothing(tmp_path, caplog):
    path = tmp_path / "models.config"
    contents = (text("a"), "broken {", None, text("late"), text("b"))

    took = follow(path, contents, [ModelConfig("a", "/m")])

    assert took == ["late", "b"]
    # Each mistake is told once: the broken, the missing and the refused file.
    assert [record.levelname for record in caplog.records].count("ERROR") == 3


def test_a_change_while_the_server_started_is_not_missed(tmp_path):
    path = tmp_path / "models.config"

    assert follow(path, [text("b")], [ModelConfig("a", "/m")]) == ["b"]
