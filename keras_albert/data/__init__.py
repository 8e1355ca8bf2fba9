"""From text files to batches for pretraining."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "corpus": ["read_documents"],
        "masking": ["choose_masked_tokens", "mask_tokens"],
        "pretraining": ["evaluation_dataset", "pretraining_dataset"],
        "segment_pairs": ["plan_segment_pairs"],
        "sentences": ["split_sentences"],
        "tokenized_corpus": ["TokenizedCorpus", "tokenize_corpus"],
    },
)
