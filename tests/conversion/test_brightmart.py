"""The layout of `brightmart/albert_zh`, computed step by step in NumPy."""

import json

import numpy as np
import pytest

from keras_albert.conversion.google import google_source
from keras_albert.conversion.source import load
from tests.checks import to_numpy
from tests.conversion.checkpoints import save_checkpoint

E, H, F, V, HEADS, LAYERS = 6, 12, 20, 23, 3, 4
CONFIG = {
    "attention_probs_dropout_prob": 0.0,
    "directionality": "bidi",
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "hidden_size": H,
    "embedding_size": E,
    "initializer_range": 0.02,
    "intermediate_size": F,
    "max_position_embeddings": 16,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "pooler_type": "first_token_transform",
    "type_vocab_size": 2,
    "vocab_size": V,
    "ln_type": "postln",
}
SHAPES = {
    "bert/embeddings/word_embeddings": (V, E),
    "bert/embeddings/word_embeddings_2": (E, H),
    "bert/embeddings/token_type_embeddings": (2, H),
    "bert/embeddings/position_embeddings": (16, H),
    "bert/embeddings/LayerNorm/gamma": (H,),
    "bert/embeddings/LayerNorm/beta": (H,),
    "bert/pooler/dense/kernel": (H, H),
    "bert/pooler/dense/bias": (H,),
    "cls/predictions/transform/dense/kernel": (H, H),
    "cls/predictions/transform/dense/bias": (H,),
    "cls/predictions/transform/LayerNorm/gamma": (H,),
    "cls/predictions/transform/LayerNorm/beta": (H,),
    "cls/predictions/output_bias": (V,),
    "cls/seq_relationship/output_weights": (2, H),
    "cls/seq_relationship/output_bias": (2,),
}
LAYER = "bert/encoder/layer_shared"
for name, width in (
    ("attention/self/query", (H, H)),
    ("attention/self/key", (H, H)),
    ("attention/self/value", (H, H)),
    ("attention/output/dense", (H, H)),
    ("intermediate/dense", (H, F)),
    ("output/dense", (F, H)),
):
    SHAPES[f"{LAYER}/{name}/kernel"] = width
    SHAPES[f"{LAYER}/{name}/bias"] = width[1:]
for name in ("attention/output/LayerNorm", "output/LayerNorm"):
    SHAPES[f"{LAYER}/{name}/gamma"] = SHAPES[f"{LAYER}/{name}/beta"] = (H,)


@pytest.fixture
def arrays():
    generator = np.random.default_rng(0)
    return {
        name: (
            generator.normal(size=shape, scale=0.3) + name.endswith("gamma")
        ).astype("float32")
        for name, shape in SHAPES.items()
    }


@pytest.fixture
def source(tmp_path, arrays):
    config = tmp_path / "albert_config_base.json"
    config.write_text(json.dumps(CONFIG))
    slots = {f"{n}/adam_m": a for n, a in arrays.items()}
    save_checkpoint(tmp_path / "albert_model.ckpt", {**arrays, **slots})
    return google_source(tmp_path / "albert_model.ckpt", config)


def theirs(arrays, inputs):
    """Their `modeling.py` and `run_pretraining.py`, in float64."""
    w = {name: np.float64(array) for name, array in arrays.items()}

    def dense(x, scope):
        return x @ w[f"{scope}/kernel"] + w[f"{scope}/bias"]

    def norm(x, scope):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12)
        return x * w[f"{scope}/gamma"] + w[f"{scope}/beta"]

    def gelu(x):
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + np.tanh(inner))

    e = "bert/embeddings"
    x = w[f"{e}/word_embeddings"][inputs["token_ids"]]
    x = x @ w[f"{e}/word_embeddings_2"]
    x = x + w[f"{e}/token_type_embeddings"][inputs["segment_ids"]]
    x = x + w[f"{e}/position_embeddings"][: x.shape[1]]
    x = norm(x, f"{e}/LayerNorm")
    for _ in range(LAYERS):
        q, k, v = (
            dense(x, f"{LAYER}/attention/self/{n}").reshape(2, 7, HEADS, -1)
            for n in ("query", "key", "value")
        )
        scores = np.einsum("bqnd,bknd->bnqk", q, k) / 2.0
        scores -= 10000.0 * (1 - inputs["padding_mask"])[:, None, None]
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        y = np.einsum("bnqk,bknd->bqnd", scores, v).reshape(x.shape)
        y = dense(y, f"{LAYER}/attention/output/dense")
        x = norm(x + y, f"{LAYER}/attention/output/LayerNorm")
        y = gelu(dense(x, f"{LAYER}/intermediate/dense"))
        y = dense(y, f"{LAYER}/output/dense")
        x = norm(x + y, f"{LAYER}/output/LayerNorm")
    pooled = np.tanh(dense(x[:, 0], "bert/pooler/dense"))
    t = gelu(dense(x, "cls/predictions/transform/dense"))
    t = norm(t, "cls/predictions/transform/LayerNorm")
    t = t @ w[f"{e}/word_embeddings_2"].T @ w[f"{e}/word_embeddings"].T
    return {
        "masked_lm": t + w["cls/predictions/output_bias"],
        "sentence_order": pooled @ w["cls/seq_relationship/output_weights"].T
        + w["cls/seq_relationship/output_bias"],
    }


@pytest.mark.every_backend
def test_both_heads_equal_their_computation(source, arrays):
    generator = np.random.default_rng(1)
    inputs = {
        "token_ids": generator.integers(0, V, (2, 7)),
        "segment_ids": generator.integers(0, 2, (2, 7)),
        "padding_mask": np.ones((2, 7), "int64"),
    }
    inputs["padding_mask"][1, 4:] = 0

    converted = load(source)

    positions = np.tile(np.arange(7), (2, 1))
    ours = to_numpy(converted.model({**inputs, "mask_positions": positions}))
    for head, expected in theirs(arrays, inputs).items():
        np.testing.assert_allclose(
            ours[head][:1], expected[:1], rtol=0, atol=1e-5
        )
    np.testing.assert_allclose(
        ours["masked_lm"][1, :4],
        theirs(arrays, inputs)["masked_lm"][1, :4],
        rtol=0,
        atol=1e-5,
    )


def test_every_variable_is_used(source, arrays):
    report = load(source).report

    two = {
        "bert/embeddings/word_embeddings",
        "bert/embeddings/word_embeddings_2",
    }
    product = " x ".join(sorted(two))
    assert set(report.loaded) == set(arrays) - two | {product}
    assert len(report.skipped) == len(arrays)
    assert report.new == []


def test_the_kind_is_found_from_the_names(source):
    assert source.kind == "brightmart"
    assert source.arguments["embedding_dim"] == H
