from pathlib import Path

import pytest

from keras_albert.models.config import AlbertConfig
from keras_albert.training import recipes
from keras_albert.training.lamb import Lamb


def test_lamb_has_the_published_rate_at_the_published_batch():
    assert recipes.pretraining_rate("lamb", 4096, 768) == 0.00176
    assert recipes.pretraining_rate("lamb", 64, 768) == pytest.approx(0.00022)


def test_adamw_bears_less_in_wide_models_and_small_batches():
    base = recipes.pretraining_rate("adamw", 32, 768)

    assert base == pytest.approx(2.5e-4)
    assert recipes.pretraining_rate("adamw", 32, 3072) == pytest.approx(
        base / 4
    )
    assert recipes.pretraining_rate("adamw", 8, 768) == pytest.approx(base / 2)
    assert recipes.pretraining_rate("adamw", 10**6, 64) == recipes.MAX_RATE


@pytest.mark.parametrize("name", recipes.OPTIMIZERS)
def test_optimizers_warm_up_and_clip(name):
    optimizer = recipes.make_optimizer(name, 0.5, steps=100)

    rates = [float(optimizer._learning_rate(t)) for t in (0, 5, 100)]
    assert rates == pytest.approx([0.0, 0.5, 0.0])
    assert optimizer.global_clipnorm == 1.0
    assert isinstance(optimizer, Lamb) == (name == "lamb")


def test_adamw_does_not_decay_biases_and_normalisation():
    import keras

    optimizer = recipes.make_optimizer("adamw", 0.5, steps=100)
    decayed = [
        optimizer._use_weight_decay(keras.Variable([1.0], name=name))
        for name in ("kernel", "output_bias", "gamma", "beta", "bias")
    ]

    assert decayed == [True, False, False, False, False]


def test_the_small_model_can_be_built():
    arguments = recipes.small_config().backbone_arguments(8000)

    assert arguments["hidden_dim"] % arguments["num_heads"] == 0


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(ValueError, match="adamw, lamb"):
        recipes.make_optimizer("sgd", 0.1, steps=10)


BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize(
    "path", sorted(BENCHMARKS.glob("*.yaml")), ids=lambda path: path.name
)
def test_every_benchmark_configuration_is_accepted(path):
    config = AlbertConfig.from_file(path)

    arguments = config.backbone_arguments(8000)
    assert arguments["hidden_dim"] % arguments["num_heads"] == 0
