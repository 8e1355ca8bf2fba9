"""Models of ours that keras-hub loads."""

import pytest

from keras_albert.conversion.keras_hub import keras_hub_source
from keras_albert.conversion.keras_hub_writing import write_keras_hub
from keras_albert.conversion.source import load
from keras_albert.models import AlbertPretrainer
from keras_albert.models import AlbertTextClassifier
from keras_albert.tokenizers import AlbertTokenizer
from tests.checks import to_numpy
from tests.conversion.test_keras_hub import close
from tests.conversion.test_keras_hub import converted_of
from tests.conversion.test_keras_hub import models
from tests.conversion.test_variable_memory import is_released
from tests.models.tiny_models import backbone_inputs
from tests.models.tiny_models import tiny_backbone
from tests.tokenizers.conftest import tiny_proto  # noqa: F401


@pytest.mark.every_backend
def test_ours_without_projection_gets_the_identity(tmp_path):
    ours = tiny_backbone(embedding_dim=8)
    write_keras_hub(converted_of(ours), tmp_path)

    theirs = models.AlbertBackbone.from_preset(str(tmp_path))

    inputs = backbone_inputs()
    close(theirs(inputs)["pooled_output"], ours(inputs)["pooled_output"])


def test_what_keras_hub_has_not_is_said(tmp_path):
    ours = AlbertPretrainer(tiny_backbone(hidden_dropout=0.1))

    notes = write_keras_hub(converted_of(ours), tmp_path)

    assert notes == [
        "keras-hub has one dropout rate for both: 0.1, the hidden one, is "
        "taken.",
        "keras-hub has no sentence_order head: left out.",
    ]


@pytest.mark.every_backend
@pytest.mark.parametrize("keep", [True, False])
def test_ours_is_released_if_it_is_not_kept(tmp_path, keep):
    ours, inputs = tiny_backbone(), backbone_inputs()
    expected = to_numpy(ours(inputs)["pooled_output"])
    kernel = ours.pooler.kernel

    write_keras_hub(converted_of(ours), tmp_path, keep=keep)

    theirs = models.AlbertBackbone.from_preset(str(tmp_path))
    close(theirs(inputs)["pooled_output"], expected)
    assert is_released(kernel) == (not keep)


def test_their_own_models_start_at_random_afterwards(tmp_path):
    write_keras_hub(converted_of(tiny_backbone()), tmp_path)

    theirs = models.AlbertBackbone(13, 2, 2, 5, 8, 11)
    assert to_numpy(theirs.token_embedding.embeddings).any()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"activation": "relu"}, "activation='gelu_tanh' and no other"),
        ({"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon=1e-12"),
        ({"sharing": "none"}, "share whole layers"),
    ],
)
def test_what_keras_hub_cannot_hold_is_refused(tmp_path, overrides, message):
    with pytest.raises(ValueError, match=message):
        write_keras_hub(converted_of(tiny_backbone(**overrides)), tmp_path)


def test_the_vocabulary_travels(tmp_path, tiny_proto):  # noqa: F811
    tokenizer = AlbertTokenizer(tiny_proto)
    size = tokenizer.vocabulary_size()
    ours = AlbertTextClassifier(
        tiny_backbone(vocabulary_size=size), num_classes=2
    )

    write_keras_hub(converted_of(ours, tokenizer), tmp_path)

    theirs = models.AlbertTokenizer.from_preset(str(tmp_path))
    assert theirs.proto == tokenizer.proto
    again = load(keras_hub_source(tmp_path))
    assert again.tokenizer.fingerprint() == tokenizer.fingerprint()
