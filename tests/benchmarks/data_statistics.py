"""The laws of the data on real text, beside those of Google's script.

    python tests/benchmarks/data_statistics.py --data ../shared/data

Google's figures are of its `create_pretraining_data.py`, one pass over
en_wikipedia/train_0 at length 128 with sentences split; "–" where none is
known. Its swapped share is above one half because its chunks of one sentence
take a second segment from another document and count as swapped.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

LENGTH, BATCH_SIZE, NUM_BATCHES = 128, 256, 28
EXAMINED = 500
CORPORA = {
    "English": ("en_wikipedia", "albert_en_30k-clean.rebuilt.model"),
    "Chinese": ("zh_wikipedia", "bert_zh_vocab.txt"),
}
GOOGLE = {
    "targets, of the real tokens": "14.87 %",
    "… shown as [MASK]": "79.9 %",
    "… shown as another token": "10.1 %",
    "… shown as they are": "10.0 %",
    "swapped, of the pairs": "52.95 %",
}
ASKED = {
    "targets, of the real tokens": "15 %, rounded down",
    "… shown as [MASK]": "80 %",
    "… shown as another token": "10 %",
    "… shown as they are": "10 %",
    "spans of 1, 2, 3 words": "54.5, 27.3, 18.2 %",
    "words with part of their tokens masked": "0",
    "special tokens masked": "0",
    "swapped, of the pairs": "50 %",
    "pairs across documents": "0",
}


def measure(data, text, tokenizer):
    """Returns a dict of row name to text."""
    import numpy as np

    from keras_albert import data as library
    from keras_albert.tokenizers import load_tokenizer
    from tests.data.batch_statistics import measure_batches
    from tests.data.batch_statistics import span_length_shares

    tokenizer = load_tokenizer(data / "tokenizers" / tokenizer)
    text = data / text / "train_0.txt.gz"
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared"
        library.prepare_corpus(
            text, tokenizer, prepared, sequence_length=LENGTH
        )
        dataset = library.pretraining_dataset(
            prepared, batch_size=BATCH_SIZE, seed=1
        )
        corpus = library.tokenize_corpus(
            library.read_documents(text), tokenizer
        )
        borders = corpus.sentence_offsets[corpus.document_offsets[1:-1]]
        found = measure_batches(
            dataset,
            NUM_BATCHES,
            tokenizer,
            np.split(corpus.token_ids, borders),
            EXAMINED,
        )
        spans = span_length_shares(dataset, 4, tokenizer)
    return {
        "targets, of the real tokens": percent(found.masked, 2),
        "… shown as [MASK]": percent(found.hidden),
        "… shown as another token": percent(found.replaced),
        "… shown as they are": percent(found.kept),
        "spans of 1, 2, 3 words": ", ".join(f"{100 * s:.1f}" for s in spans)
        + " %",
        "words with part of their tokens masked": str(found.half_masked_words),
        "special tokens masked": str(found.special_targets),
        "swapped, of the pairs": percent(found.swapped, 2),
        "pairs across documents": f"{found.strange_pairs} of {EXAMINED}",
        "padding, of all tokens": percent(found.padding),
    }


def percent(share, digits=1):
    return f"{100 * share:.{digits}f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()

    from rich.console import Console
    from rich.table import Table

    columns = {
        language: measure(arguments.data, *corpus)
        for language, corpus in CORPORA.items()
    }
    table = Table("length 128", box=None)
    for name in ("asked", "Google's script", *columns):
        table.add_column(name, justify="right")
    for row in next(iter(columns.values())):
        table.add_row(
            row,
            ASKED.get(row, "–"),
            GOOGLE.get(row, "–"),
            *(column[row] for column in columns.values()),
        )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
