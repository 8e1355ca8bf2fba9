"""Our variables by name: all of them, each once."""

import keras
import pytest

from keras_albert.conversion.model_variables import model_variables
from keras_albert.conversion.model_variables import part_of
from keras_albert.conversion.model_variables import split_layer
from keras_albert.models import AlbertTextClassifier
from tests.models.tiny_models import tiny_backbone
from tests.models.tiny_models import tiny_pretrainer


@pytest.mark.parametrize(
    "model",
    [
        lambda: tiny_backbone(),
        lambda: tiny_backbone(embedding_dim=8),
        lambda: tiny_pretrainer(num_groups=3, num_inner_repetitions=2),
        lambda: AlbertTextClassifier(tiny_backbone(), num_classes=4),
    ],
)
def test_every_weight_has_a_name_of_its_own(model):
    model = model()

    variables = model_variables(model)

    weights = {v.path for v in model.weights if "seed" not in v.path}
    assert {v.path for v in variables.values()} == weights
    assert len(variables) == len(weights)


def test_names_say_where_a_weight_is():
    backbone = tiny_backbone(num_groups=3, num_inner_repetitions=2)

    variables = model_variables(backbone)

    layer = backbone.encoder.transformer_layers[3]
    assert variables["layers/1/1/key/bias"] is layer.self_attention.key.bias
    assert split_layer("layers/1/1/key/bias") == (1, 1, "layers/key/bias")
    assert part_of("masked_lm/output/bias") == "masked_lm"


def test_what_has_no_equivalent_is_refused():
    with pytest.raises(ValueError, match="sharing='ffn'"):
        model_variables(tiny_backbone(sharing="ffn"))
    with pytest.raises(ValueError, match="A Sequential cannot be converted"):
        model_variables(keras.Sequential())
