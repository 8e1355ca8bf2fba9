"""Takes changes of a `models.config` file while the server runs."""

import asyncio
import logging

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.models.config import read_model_configs

log = logging.getLogger(__name__)


async def follow_config_file(server, path, seconds, taken):
    """Looks at a file again and again, and gives a server what it says.

    A file that cannot be used changes nothing, and is tried again: the
    versions that it names may still be on their way.

    Args:
        server: has `reload(configs)`.
        path: the file.
        seconds: float. How long to wait between two looks.
        taken: list of `ModelConfig`, what the server has of the file already.
    """
    refused = None
    while True:
        await asyncio.sleep(seconds)
        try:
            configs = await asyncio.to_thread(read_model_configs, path)
            if configs == taken:
                continue
            await server.reload(configs)
        except (OSError, ServingError, ValueError) as error:
            if str(error) != refused:  # once is enough
                log.error("%s is not taken: %s", path, error)
            refused = str(error)
        else:
            log.info("Took %s.", path)
            taken, refused = configs, None
