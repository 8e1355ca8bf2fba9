import keras
import numpy as np
import pytest

from keras_albert.training.schedules import WarmupPolynomialDecay

pytestmark = pytest.mark.every_backend


def rates(schedule, steps):
    return [float(schedule(step)) for step in range(steps)]


def test_ten_steps_of_linear_decay():
    schedule = WarmupPolynomialDecay(8.0, warmup_steps=2, total_steps=10)

    expected = [0.0, 4.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(rates(schedule, 12), expected, atol=1e-6)


def test_ten_steps_of_quadratic_decay_to_an_end_rate():
    schedule = WarmupPolynomialDecay(
        6.0, warmup_steps=0, total_steps=5, end_rate=1.0, power=2.0
    )

    expected = [6.0, 4.2, 2.8, 1.8, 1.2, 1.0, 1.0, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(rates(schedule, 10), expected, atol=1e-5)


def test_accumulated_micro_steps_share_one_rate():
    schedule = WarmupPolynomialDecay(
        2.0, warmup_steps=2, total_steps=4, accumulation_steps=3
    )

    expected = [0, 0, 0, 1, 1, 1, 2, 2, 2, 1, 1, 1, 0, 0]
    np.testing.assert_allclose(rates(schedule, 14), expected, atol=1e-6)


def test_it_survives_saving_inside_an_optimizer():
    schedule = WarmupPolynomialDecay(1.0, 2, 8, 0.1, 2.0, 3)
    config = keras.optimizers.AdamW(schedule).get_config()

    again = keras.optimizers.AdamW.from_config(config)

    assert again._learning_rate.get_config() == schedule.get_config()


def test_an_optimizer_follows_it():
    weight = keras.Variable(np.zeros(1, "float32"))
    optimizer = keras.optimizers.SGD(WarmupPolynomialDecay(1.0, 1, 3))
    positions = []
    for _ in range(4):
        optimizer.apply([keras.ops.ones((1,))], [weight])
        positions.append(float(weight[0]))

    np.testing.assert_allclose(positions, [0, -1, -1.5, -1.5], atol=1e-6)


@pytest.mark.parametrize("warmup_steps", [-1, 5, 6])
def test_warm_up_as_long_as_the_run_is_refused(warmup_steps):
    with pytest.raises(ValueError, match="below `total_steps`"):
        WarmupPolynomialDecay(1.0, warmup_steps, 5)


def test_accumulation_below_one_is_refused():
    with pytest.raises(ValueError, match="accumulation_steps=0"):
        WarmupPolynomialDecay(1.0, 1, 5, accumulation_steps=0)
