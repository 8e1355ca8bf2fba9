"""From text files to batches for pretraining."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "corpus": ["iterate_documents", "read_documents", "resolve_files"],
        "inspection": ["CorpusReport", "inspect_corpus"],
        "inspection_advice": ["corpus_advice", "corpus_problems"],
        "inspection_plot": ["plot_report"],
        "corpus_batches": ["check_same_tokenizer"],
        "explanation": [
            "ExplainedExample",
            "explain_corpus",
            "explain_example",
            "explain_prepared",
        ],
        "google_records": ["google_records"],
        "masking": ["MaskingRates", "choose_masked_tokens", "mask_tokens"],
        "preparation": ["PreparedCorpus", "prepare_corpus"],
        "pretraining": [
            "evaluation_dataset",
            "pretraining_dataset",
        ],
        "segment_pairs": ["PairPlan", "count_examples", "plan_segment_pairs"],
        "shards": [
            "Manifest",
            "read_manifest",
            "read_token_counts",
            "verify_shards",
        ],
        "sentences": ["split_sentences"],
        "tokenized_corpus": [
            "CorpusSummary",
            "TokenizedCorpus",
            "tokenize_corpus",
        ],
    },
)
