"""Takes changes of a `models.config` file while the server runs."""

import asyncio
import logging
from pathlib import Path

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.models.config import read_model_configs

log = logging.getLogger(__name__)


async def follow_config_file(server, path, seconds):
    """Looks at a file again and again, and gives a server what it says.

    A file that cannot be used changes nothing.

    Args:
        server: has `reload(configs)`.
        path: the file.
        seconds: float. How long to wait between two looks.
    """
    path = Path(path)
    text = await asyncio.to_thread(_text, path)
    while True:
        await asyncio.sleep(seconds)
        before, text = text, await asyncio.to_thread(_text, path)
        if text is None or text == before:
            continue
        try:
            await server.reload(read_model_configs(path))
        except (OSError, ServingError, ValueError) as error:
            log.error("%s is not taken: %s", path, error)
        else:
            log.info("Took %s.", path)


def _text(path):
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None
