"""`transformers` with the same weights, side by side."""

import numpy as np
import pytest

from keras_albert.conversion.hugging_face import SKIPPED
from keras_albert.conversion.hugging_face import (
    hugging_face_config_to_arguments,
)
from keras_albert.conversion.hugging_face import hugging_face_weight_table
from keras_albert.conversion.weight_table import assign_weights
from keras_albert.models import AlbertBackbone
from keras_albert.models import AlbertPretrainer
from tests.checks import to_numpy

torch = pytest.importorskip("torch", reason="needs torch to run their model")
transformers = pytest.importorskip("transformers", reason="the other side")

pytestmark = pytest.mark.every_backend

CONFIGURATIONS = [
    {"hidden_act": "gelu_new"},
    {"hidden_act": "gelu", "num_hidden_layers": 5},
    {"hidden_act": "relu", "num_hidden_groups": 3, "inner_group_num": 2},
    {"embedding_size": 24, "num_hidden_groups": 2, "num_hidden_layers": 4},
]


def their_model(seed, **overrides):
    config = transformers.AlbertConfig(
        **{
            "vocab_size": 31,
            "embedding_size": 7,
            "hidden_size": 24,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "intermediate_size": 37,
            "max_position_embeddings": 17,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
            "hidden_act": "gelu_new",
            **overrides,
        }
    )
    torch.manual_seed(seed)
    model = transformers.AlbertForPreTraining(config).eval()
    with torch.no_grad():
        # Their biases start at zero and their norms at one, which would hide
        # a wrong name.
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def our_model(theirs):
    arguments = hugging_face_config_to_arguments(theirs.config.to_dict())
    ours = AlbertPretrainer(AlbertBackbone(**arguments))
    source = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assign_weights(hugging_face_weight_table(ours), source, skipped=SKIPPED)
    return ours


@pytest.mark.parametrize("overrides", CONFIGURATIONS)
def test_hidden_states_and_heads_equal_transformers(overrides):
    theirs = their_model(seed=3, **overrides)
    ours = our_model(theirs)
    generator = np.random.default_rng(4)
    token_ids = generator.integers(0, 31, (2, 11))
    segment_ids = generator.integers(0, 2, (2, 11))
    padding_mask = np.ones((2, 11), "int64")
    padding_mask[1, 6:] = 0

    with torch.no_grad():
        expected = theirs(
            input_ids=torch.tensor(token_ids),
            token_type_ids=torch.tensor(segment_ids),
            attention_mask=torch.tensor(padding_mask),
            output_hidden_states=True,
        )
    inputs = {
        "token_ids": token_ids.astype("int32"),
        "segment_ids": segment_ids.astype("int32"),
        "padding_mask": padding_mask.astype("int32"),
        "mask_positions": np.tile(np.arange(11, dtype="int32"), (2, 1)),
    }
    outputs = to_numpy(ours(inputs))

    real = padding_mask.astype(bool)
    np.testing.assert_allclose(
        outputs["masked_lm"][real],
        expected.prediction_logits.numpy()[real],
        rtol=0,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        outputs["sentence_order"],
        expected.sop_logits.numpy(),
        rtol=0,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        to_numpy(ours.backbone.layer_outputs(inputs)[-1])[real],
        expected.hidden_states[-1].numpy()[real],
        rtol=0,
        atol=1e-5,
    )


def test_missing_and_unknown_settings_are_named():
    config = their_model(seed=0).config.to_dict()

    with pytest.raises(ValueError, match="hidden_size"):
        hugging_face_config_to_arguments(
            {k: v for k, v in config.items() if k != "hidden_size"}
        )
    with pytest.raises(ValueError, match="'mish'"):
        hugging_face_config_to_arguments({**config, "hidden_act": "mish"})
