"""On one device nothing changes; for more, test_tensorflow_distribution."""

import keras
import numpy as np
import pytest

from keras_albert.training.replica_gradients import SumReplicasFirst

pytestmark = pytest.mark.every_backend


class OverReplicas(SumReplicasFirst, keras.optimizers.RMSprop):
    pass


@pytest.mark.parametrize("accumulation", [None, 2])
def test_on_one_device_it_is_the_optimizer_itself(accumulation):
    results = []
    for kind in (OverReplicas, keras.optimizers.RMSprop):
        start = np.arange(6.0, dtype="float32").reshape(2, 3)
        variable = keras.Variable(start, name="kernel")
        optimizer = kind(
            0.1,
            weight_decay=0.2,
            global_clipnorm=0.5,
            gradient_accumulation_steps=accumulation,
        )
        optimizer.build([variable])
        for step in range(4):
            gradient = np.full((2, 3), step + 1.0, "float32")
            optimizer.apply([keras.ops.convert_to_tensor(gradient)])
        results.append(keras.ops.convert_to_numpy(variable))

    np.testing.assert_allclose(*results, rtol=1e-6)
    assert np.abs(results[0] - start).max() > 0.01
