"""The variable names of Google's ALBERT, and the other spellings of them.

`spelled_as_google` brings what other scopes, newer TensorFlow releases and
training runs make of the names back to the published ones.
"""

import re

from keras_albert.conversion.weight_table import AS_IS
from keras_albert.conversion.weight_table import PLAIN_LEAVES
from keras_albert.conversion.weight_table import TRANSPOSED
from keras_albert.conversion.weight_table import WeightNames

_LAYER = "bert/encoder/transformer/group_{group}/inner_group_{inner}"

GOOGLE = WeightNames(
    scopes={
        "embeddings/norm": "bert/embeddings/LayerNorm",
        "embeddings/projection": "bert/encoder/embedding_hidden_mapping_in",
        "layers/query": f"{_LAYER}/attention_1/self/query",
        "layers/key": f"{_LAYER}/attention_1/self/key",
        "layers/value": f"{_LAYER}/attention_1/self/value",
        "layers/attention_output": f"{_LAYER}/attention_1/output/dense",
        "layers/attention_norm": f"{_LAYER}/LayerNorm",
        "layers/intermediate": f"{_LAYER}/ffn_1/intermediate/dense",
        "layers/feed_forward_output": (
            f"{_LAYER}/ffn_1/intermediate/output/dense"
        ),
        "layers/feed_forward_norm": f"{_LAYER}/LayerNorm_1",
        "pooler": "bert/pooler/dense",
        "masked_lm/transform": "cls/predictions/transform/dense",
        "masked_lm/norm": "cls/predictions/transform/LayerNorm",
    },
    leaves=PLAIN_LEAVES,
    exact={
        "embeddings/tokens/table": ("bert/embeddings/word_embeddings", AS_IS),
        "embeddings/positions/table": (
            "bert/embeddings/position_embeddings",
            AS_IS,
        ),
        "embeddings/segments/table": (
            "bert/embeddings/token_type_embeddings",
            AS_IS,
        ),
        "masked_lm/output/bias": ("cls/predictions/output_bias", AS_IS),
        # Google multiplies by the transposed kernel of its small heads.
        "sentence_order/kernel": (
            "cls/seq_relationship/output_weights",
            TRANSPOSED,
        ),
        "sentence_order/bias": ("cls/seq_relationship/output_bias", AS_IS),
        "classifier/kernel": ("output_weights", TRANSPOSED),
        "classifier/bias": ("output_bias", AS_IS),
    },
)

# Heads without a model here, by the beginning of their names.
SPAN_HEADS = re.compile(r"(cls/squad|start_logits|end_logits|answer_class)/")
SLOT = re.compile(
    r"(.+)/(adam_[mv]|lamb_[mv]|Adam(W)?(_1)?|LAMB(_1)?|Momentum|RMSProp(_1)?"
    r"|Adagrad|Adafactor|ExponentialMovingAverage|[mv])"
)
COUNTER = re.compile(
    r"(.*/)?(global_step|beta_?[12]_power|(current_)?loss_scale|good_steps"
    r"|save_counter|_CHECKPOINTABLE_OBJECT_GRAPH)"
)
NORM = re.compile(
    r"(?P<scope>.*/)(?P<norm>(?:LayerNorm|layer_norm|layer_normalization"
    r"|LayerNormalization)(?:_(?P<number>\d+))?)/(?P<leaf>gamma|beta)"
)
TABLE = "embeddings/word_embeddings"


def skipped_variables(names):
    """Returns the variables of training among `names`, each with a reason."""
    names = set(names)
    skipped = {}
    for name in sorted(names):
        slot = SLOT.fullmatch(name)
        if slot and slot[1] in names:
            skipped[name] = "optimizer slot"
        elif COUNTER.fullmatch(name):
            skipped[name] = "counter of a training run"
    return skipped


def spelled_as_google(names):
    """Returns a dict from Google's spelling to the one in the file.

    Args:
        names: iterable of strings, without optimizer slots and counters.

    Raises:
        ValueError: if there is no ALBERT among them, or more than one, or one
            whose normalisations are not shared between layer calls.
    """
    tables = [n for n in names if n == TABLE or n.endswith(f"/{TABLE}")]
    if len(tables) != 1:
        found = ", ".join(sorted(tables)) or "none"
        raise ValueError(
            "Expected one ALBERT in the checkpoint, thus one variable named "
            f".../{TABLE}. Found: {found}. Save the encoder you want alone."
        )
    encoder = tables[0].removesuffix(TABLE)
    outer = re.sub(r"[^/]+/$", "", encoder)
    spelled = {}
    for name in names:
        inside = encoder or ("embeddings/", "encoder/", "pooler/")
        if name.startswith(inside):
            spelled["bert/" + name.removeprefix(encoder)] = name
        else:
            spelled[name.removeprefix(outer)] = name
    return _number_norms(spelled)


def _number_norms(spelled):
    """Calls each scope's normalisations LayerNorm, LayerNorm_1."""
    norms = {}
    for name in spelled:
        if match := NORM.fullmatch(name):
            number = int(match["number"] or 0)
            found = norms.setdefault(match["scope"], {})
            found[number] = match["norm"]
    renamed = dict(spelled)
    for scope, found in norms.items():
        expected = 2 if re.search(r"/inner_group_\d+/$", scope) else 1
        if expected == 2 and len(found) > 2:
            raise ValueError(
                f"{scope} has {len(found)} normalisations, so this training "
                "code gave each layer call its own. An ALBERT shares them; "
                "this variant cannot be converted."
            )
        if len(found) != expected:
            continue  # named as missing or left over
        for place, number in enumerate(sorted(found)):
            ours = "LayerNorm" if place == 0 else f"LayerNorm_{place}"
            for leaf in ("gamma", "beta"):
                theirs = f"{scope}{found[number]}/{leaf}"
                if theirs in spelled:
                    renamed.pop(theirs, None)
                    renamed[f"{scope}{ours}/{leaf}"] = spelled[theirs]
    return renamed
