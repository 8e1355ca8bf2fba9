"""The README beside a token-id model."""

from keras_albert.export.conformance import CONFORMANCE_FILE
from keras_albert.export.conformance import TOLERANCE
from keras_albert.export.signature_shapes import ORDER_LABELS

MEANINGS = {
    "token_ids": "ids of the vocabulary: [CLS] text [SEP], for a pair [CLS] "
    "first [SEP] second [SEP], then [PAD]",
    "segment_ids": "0, and 1 from the second text on",
    "padding_mask": "1 at tokens, 0 at [PAD]",
    "mask_positions": "which places of the row to score; 0 where there are "
    "fewer",
    "probabilities": "of the labels, in order",
    "value": "the regressor's number",
    "sequence_output": "a vector for each token",
    "pooled": "the pooler's vector of the text",
    "mean_pooled": "mean of the tokens' vectors, the better one for comparing "
    "texts when the model was not fine-tuned",
    "masked_lm": "logits of the vocabulary at `mask_positions`",
    "sentence_order": f"logits: {', '.join(ORDER_LABELS)}",
}


def token_readme(task, signature, model_file, example):
    """Writes the README.

    Args:
        task: `ServedTask`.
        signature: dict as of `token_signature`.
        model_file: string. Name of the file with the graph.
        example: string. How the runtime is asked, Markdown.

    Returns:
        String, Markdown.
    """
    parts = [
        f"# {model_file}: an ALBERT {task.kind} that takes token ids",
        f"Inputs\n\n{_table(signature['inputs'])}",
        f"Outputs\n\n{_table(signature['outputs'])}",
    ]
    if task.labels:
        names = ", ".join(f"`{label}`" for label in task.labels)
        parts.append(f"Labels: {names}. `model.json` lists them too.")
    parts += [
        example,
        "## Token ids\n\nThe vocabulary lies in `assets/tokenizer`, its "
        "options in `tokenizer.json`. In Python:\n\n"
        "```python\nfrom keras_albert.tokenizers import load_tokenizer\n\n"
        'ids = load_tokenizer(".").encode_batch(["some text"])\n```\n\n'
        f"A tokenizer in another language is right if it makes the ids of "
        f"`{CONFORMANCE_FILE}` from its texts (a pretrainer's have a [MASK] "
        "put in), cut to the length of the stored row; a runtime is right if "
        f"its outputs equal those of the file to {TOLERANCE:g}, relative to "
        "numbers larger than 1.",
    ]
    return "\n\n".join(parts) + "\n"


def _table(tensors):
    rows = [
        f"| `{name}` | {dtype} | ({', '.join(map(str, shape))}) | "
        f"{MEANINGS[name]} |"
        for name, (dtype, shape) in tensors.items()
    ]
    head = "| name | dtype | shape | meaning |\n| --- | --- | --- | --- |\n"
    return head + "\n".join(rows)
