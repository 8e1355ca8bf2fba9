"""The models and the server that the tests share.

What takes long to import is imported where it is needed: most tests need
neither TensorFlow nor a server.
"""

import pytest

from keras_albert.serving.server.batching_parameters import BatchingParameters
from keras_albert.serving.server.models.config import read_model_configs
from tests.serving.running_server import running_server


@pytest.fixture(scope="session")
def models_config(tmp_path_factory):
    """`models.config` beside the folders of `albert` and `half`."""
    from tests.serving.contract.models import write_models

    return write_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def server(models_config):
    """A `RunningServer` for both models, which merges requests."""
    with running_server(
        read_model_configs(models_config),
        batching=BatchingParameters(
            max_batch_size=64, batch_timeout_micros=500
        ),
        max_body_bytes=2**20,
        body_seconds=1.0,
        poll_seconds=0.2,
    ) as server:
        yield server
