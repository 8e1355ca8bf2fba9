"""Checkpoints of TensorFlow Model Garden's `AlbertEncoder`, in.

Such a checkpoint stores objects: a key says where a variable hangs in the
program that saved it, and the graph of objects beside it what the variable
is called. The names are taken from there, so that it does not matter how the
encoder was wrapped (`model`, `encoder`, a pretrainer, a hub module).
"""

from keras_albert.conversion.weight_files import RenamedFile
from keras_albert.conversion.weight_table import AS_IS
from keras_albert.conversion.weight_table import PLAIN_LEAVES
from keras_albert.conversion.weight_table import WeightNames
from keras_albert.conversion.weight_table import reshaped_attention

GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
SLOTS = "/.OPTIMIZER_SLOT/"

MODEL_GARDEN = WeightNames(
    scopes={
        "embeddings/norm": "embeddings/layer_norm",
        "embeddings/projection": "embedding_projection",
        "layers/attention_norm": "transformer/self_attention_layer_norm",
        "layers/intermediate": "transformer/intermediate",
        "layers/feed_forward_output": "transformer/output",
        "layers/feed_forward_norm": "transformer/output_layer_norm",
        "pooler": "pooler_transform",
        "masked_lm/transform": "cls/predictions/transform/dense",
        "masked_lm/norm": "cls/predictions/transform/LayerNorm",
    },
    leaves=PLAIN_LEAVES,
    exact={
        "embeddings/tokens/table": ("word_embeddings/embeddings", AS_IS),
        "embeddings/positions/table": ("position_embedding/embeddings", AS_IS),
        "embeddings/segments/table": ("type_embeddings/embeddings", AS_IS),
        "masked_lm/output/bias": ("cls/predictions/output_bias/bias", AS_IS),
        **reshaped_attention("transformer/self_attention"),
    },
)


def is_model_garden(shapes):
    """Whether a checkpoint stores objects instead of named variables."""
    return any(name.endswith(SUFFIX) for name in shapes)


def named_by_variable(file):
    """Returns `(file under the variables' own names, skipped)`.

    Args:
        file: `TensorFlowCheckpoint` that stores objects.
    """
    from tensorflow.core.protobuf import trackable_object_graph_pb2 as pb2

    graph = pb2.TrackableObjectGraph.FromString(file.read(GRAPH))
    skipped = {GRAPH: "how the objects hang together"}
    names = {}
    for node in graph.nodes:
        for attribute in node.attributes:
            key = attribute.checkpoint_key
            if key not in file.shapes:
                continue
            if SLOTS in key or key.startswith("optimizer/"):
                skipped[key] = "optimizer slot"
            elif key.startswith(("save_counter/", "step/", "global_step/")):
                skipped[key] = "counter of a training run"
            else:
                names[_plain(attribute.full_name)] = key
    return RenamedFile(file, names), skipped


def _plain(name):
    """A variable's name without the scope of a model around the encoder."""
    name = name.removesuffix(":0")
    for inside in ("bert/cls/", "masked_lm/cls/"):
        if inside in name:
            return "cls/" + name.split(inside)[1]
    return name
