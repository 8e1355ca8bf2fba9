"""Takes changes of a `models.config` file while the server runs."""

import asyncio
import logging

from keras_albert.serving.protocol.statuses import ServingError

log = logging.getLogger(__name__)


async def follow_configs(server, read, seconds, taken):
    """Reads a list of models again and again, and gives it to a server.

    A list that cannot be used changes nothing, and is tried again: the
    versions that it names may still be on their way.

    Args:
        server: has `reload(configs)`.
        read: function without arguments to a list of `ModelConfig`.
        seconds: float. How long to wait between two looks.
        taken: list of `ModelConfig`, what the server has already.
    """
    refused = None
    while True:
        await asyncio.sleep(seconds)
        try:
            configs = await asyncio.to_thread(read)
            if configs == taken:
                continue
            await server.reload(configs)
        except (OSError, ServingError, ValueError) as error:
            if str(error) != refused:  # once is enough
                log.error("A list of models is not taken: %s", error)
            refused = str(error)
        else:
            log.info("Took another list of models.")
            taken, refused = configs, None
