"""Small random models of `transformers`, as folders, and batches for them."""

import numpy as np
import torch
import transformers

VOCABULARY = 31
LENGTH = 11
CLASSES = (
    "AlbertModel",
    "AlbertForPreTraining",
    "AlbertForMaskedLM",
    "AlbertForSequenceClassification",
    "AlbertForTokenClassification",
    "AlbertForQuestionAnswering",
    "AlbertForMultipleChoice",
)
GROUPS = {"num_hidden_groups": 2, "inner_group_num": 2, "num_hidden_layers": 4}


def their_config(**overrides):
    return transformers.AlbertConfig(
        **{
            "vocab_size": VOCABULARY,
            "embedding_size": 7,
            "hidden_size": 24,
            "num_hidden_layers": 3,
            "num_attention_heads": 3,
            "intermediate_size": 37,
            "max_position_embeddings": 17,
            "hidden_act": "gelu_new",
            **overrides,
        }
    )


def their_model(name="AlbertForPreTraining", seed=3, **overrides):
    torch.manual_seed(seed)
    model = getattr(transformers, name)(their_config(**overrides)).eval()
    with torch.no_grad():
        # Their biases start at zero and their norms at one, which would hide
        # a wrong name.
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def save_theirs(folder, name="AlbertForPreTraining", seed=3, **overrides):
    model = their_model(name, seed, **overrides)
    model.save_pretrained(folder)
    return model


def batch(seed=4):
    """Ids, segments and a mask with padding, under our names."""
    generator = np.random.default_rng(seed)
    shape = (2, LENGTH)
    padding_mask = np.ones(shape, "int32")
    padding_mask[1, 6:] = 0
    return {
        "token_ids": generator.integers(0, VOCABULARY, shape, "int32"),
        "segment_ids": generator.integers(0, 2, shape, "int32"),
        "padding_mask": padding_mask,
    }


def run_theirs(model, inputs):
    """Every output of a model of theirs by name, as arrays."""
    theirs = {
        "input_ids": inputs["token_ids"],
        "token_type_ids": inputs["segment_ids"],
        "attention_mask": inputs["padding_mask"],
    }
    theirs = {k: torch.tensor(v).long() for k, v in theirs.items()}
    if type(model).__name__ == "AlbertForMultipleChoice":
        # One row of choices.
        theirs = {name: value[None] for name, value in theirs.items()}
    with torch.no_grad():
        outputs = model(**theirs, output_hidden_states=True)
    arrays = {
        name: value.numpy()
        for name, value in outputs.items()
        if isinstance(value, torch.Tensor)
    }
    arrays["hidden"] = outputs.hidden_states[-1].numpy()
    return arrays
