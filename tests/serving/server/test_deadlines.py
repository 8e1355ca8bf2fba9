import asyncio

import pytest

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.deadlines import within


def test_what_comes_in_time_and_what_does_not():
    async def run():
        loop = asyncio.get_running_loop()
        done, late = loop.create_future(), loop.create_future()
        done.set_result(1)
        assert await within(None, done) == await within(1, done) == 1
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED.*0.01 s"):
            await within(0.01, late)
        assert late.cancelled()

    asyncio.run(run())
