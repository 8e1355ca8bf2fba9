import asyncio
import contextlib

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.models.config import ModelConfig
from keras_albert.serving.server.models.config_following import (
    follow_config_file,
)


def text(name):
    return (
        f'model_config_list {{ config {{ name: "{name}" base_path: "/m" }} }}'
    )


class Server:
    """Remembers what it is told; refuses the model `bad`."""

    def __init__(self):
        self.told = []

    async def reload(self, configs):
        self.told.append(configs)
        if configs[0].name == "bad":
            raise ServingError("FAILED_PRECONDITION", "does not load")


def test_changes_are_taken_and_mistakes_change_nothing(tmp_path):
    path = tmp_path / "models.config"
    server = Server()

    async def run():
        path.write_text(text("a"))
        task = asyncio.create_task(follow_config_file(server, path, 0.02))
        for content in (text("a"), "broken {", text("bad"), None, text("b")):
            if content is None:
                path.unlink()
            else:
                path.write_text(content)
            await asyncio.sleep(0.15)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())

    assert server.told == [
        [ModelConfig("bad", "/m")],
        [ModelConfig("b", "/m")],
    ]
