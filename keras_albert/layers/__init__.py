"""ALBERT's layers. They need keras alone, on any backend."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "factorized_embedding": ["FactorizedEmbedding"],
        "feed_forward": ["FeedForward"],
        "layer_schedule": ["layer_schedule"],
        "masked_lm_head": ["MaskedLMHead"],
        "self_attention": ["SelfAttention"],
        "sentence_order_head": ["SentenceOrderHead"],
        "shared_encoder": ["SharedEncoder"],
        "transformer_layer": ["TransformerLayer"],
    },
)
