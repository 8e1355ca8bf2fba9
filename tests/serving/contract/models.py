"""The models that the contract suite asks, written where a server finds them.

To run the suite against a TensorFlow Serving of your own:

    python -m tests.serving.contract.models DIR
    docker run --rm -p 8500:8500 -p 8501:8501 -v DIR:/models \
        tensorflow/serving --model_config_file=/models/models.config \
        --allow_version_labels_for_unavailable_models=true \
        --enable_grpc_healthcheck_service=true
    TFS_URL=http://localhost:8501 TFS_GRPC=localhost:8500 \
        python -m pytest tests/serving/contract

`albert` is an export of a tiny classifier; `half` is a graph with a signature
for each rule that classifiers do not touch.
"""

import sys
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_albert.export.saved_model import export_saved_model
from tests.export.tiny_classifiers import tiny_classifier

LABELS = ["bad", "good", "no idea"]
CONFIG = """\
model_config_list {{
  config {{
    name: "albert"
    base_path: "{root}/albert"
    model_platform: "tensorflow"
  }}
  config {{
    name: "half"
    base_path: "{root}/half"
    model_platform: "tensorflow"
    model_version_policy {{ specific {{ versions: 1 versions: 2 }} }}
    version_labels {{ key: "stable" value: 1 }}
    version_labels {{ key: "canary" value: 2 }}
  }}
}}
"""


def write_models(root, seen_as=None):
    """Writes both models and their `models.config`.

    Args:
        root: path of a folder.
        seen_as: string. Where the server sees that folder.

    Returns:
        Path of `models.config`.
    """
    root = Path(root)
    classifier = tiny_classifier("sentence_piece", num_classes=3, labels=LABELS)
    export_saved_model(classifier, root / "albert", version=1, verify=False)
    write_half(root / "half" / "1", plus=2.0)
    write_half(root / "half" / "2", plus=3.0)
    config = root / "models.config"
    config.write_text(CONFIG.format(root=seen_as or root))
    return config


def write_half(folder, plus):
    """Writes `half`, whose default signature gives `x / 2 + plus`."""
    module = tf.Module()
    module.plus = tf.Variable(plus)
    signatures = {name: make(module) for name, make in SIGNATURES.items()}
    unfinished = folder.with_name(f".{folder.name}")
    tf.saved_model.save(module, str(unfinished), signatures=signatures)
    add_default(unfinished / "saved_model.pb")
    unfinished.rename(folder)


def add_default(path):
    """Gives an input of `optional` a default, for which Keras has no way."""
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    signature = saved.meta_graphs[0].signature_def["optional"]
    signature.defaults["plus"].CopyFrom(tf.make_tensor_proto([10.0]))
    path.write_bytes(saved.SerializeToString())


def spec(shape, dtype, name):
    return tf.TensorSpec(shape, dtype, name=name)


def serving_default(module):
    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def run(x):
        return {"y": x / 2 + module.plus}

    return run


def optional(module):
    """Two inputs, the second of which may be left out over gRPC."""

    @tf.function(
        input_signature=[
            spec([None], tf.float32, "x"),
            spec([None], tf.float32, "plus"),
        ]
    )
    def run(x, plus):
        return {"y": x + plus}

    return run


def pairwise(module):
    """Two inputs of different types and ranks, two outputs."""

    @tf.function(
        input_signature=[
            spec([None, 2], tf.int32, "numbers"),
            spec([None], tf.bool, "negate"),
        ]
    )
    def run(numbers, negate):
        total = tf.reduce_sum(numbers, -1)
        return {
            "total": tf.where(negate, -total, total),
            "negated": tf.identity(negate),
        }

    return run


def echo(module):
    """What came goes back, in each type that JSON has values for."""

    @tf.function(
        input_signature=[
            spec([None], tf.string, "text"),
            spec([None], tf.int64, "long"),
            spec([None], tf.uint8, "byte"),
            spec([None], tf.float64, "double"),
        ]
    )
    def run(text, long, byte, double):
        return {
            "text": tf.identity(text),
            "text_bytes": tf.identity(text),
            "long": tf.identity(long),
            "byte": tf.identity(byte),
            "double": tf.identity(double),
        }

    return run


def floats(module):
    @tf.function(input_signature=[spec(None, tf.float32, "x")])
    def run(x):
        return {"same": tf.identity(x)}

    return run


def scalar(module):
    """An output without rows."""

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def run(x):
        return {"total": tf.reduce_sum(x)}

    return run


def uneven(module):
    """Outputs with different numbers of rows."""

    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def run(x):
        return {"once": tf.identity(x), "twice": tf.concat([x, x], 0)}

    return run


def gives_half(module):
    @tf.function(input_signature=[spec([None], tf.float32, "x")])
    def run(x):
        return {"small": tf.cast(x, tf.float16)}

    return run


def takes_half(module):
    @tf.function(input_signature=[spec([None], tf.float16, "x")])
    def run(x):
        return {"y": tf.cast(x, tf.float32)}

    return run


def fails(module):
    """An operation that refuses what is no number."""

    @tf.function(input_signature=[spec([None], tf.string, "text")])
    def run(text):
        return {"number": tf.strings.to_number(text)}

    return run


def slow(module):
    """Counts up to each row's number, one by one."""

    @tf.function(input_signature=[spec([None], tf.int32, "rounds")])
    def run(rounds):
        (counted,) = tf.while_loop(
            lambda i: tf.reduce_any(i < rounds),
            lambda i: (tf.minimum(i + 1, rounds),),
            (tf.zeros_like(rounds),),
            parallel_iterations=1,
        )
        return {"counted": counted}

    return run


def parse(serialized):
    return tf.io.parse_example(
        serialized,
        {
            "text": tf.io.FixedLenFeature([], tf.string, ""),
            "number": tf.io.FixedLenFeature([], tf.float32, 0.0),
            "count": tf.io.FixedLenFeature([], tf.int64, 0),
        },
    )


def classify(module):
    """Two classes: the example's text, and its text in capitals."""

    @tf.function(input_signature=[spec([None], tf.string, "inputs")])
    def run(inputs):
        found = parse(inputs)
        upper = tf.strings.upper(found["text"])
        length = tf.cast(tf.strings.length(found["text"]), tf.float32)
        return {
            "classes": tf.stack([found["text"], upper], 1),
            "scores": tf.stack([length, length / 2], 1),
        }

    return run


def regress(module):
    @tf.function(input_signature=[spec([None], tf.string, "inputs")])
    def run(inputs):
        found = parse(inputs)
        count = tf.cast(found["count"], tf.float32)
        return {"outputs": (found["number"] + count)[:, None]}

    return run


SIGNATURES = {
    "serving_default": serving_default,
    "optional": optional,
    "pairwise": pairwise,
    "echo": echo,
    "floats": floats,
    "scalar": scalar,
    "uneven": uneven,
    "gives_half": gives_half,
    "takes_half": takes_half,
    "fails": fails,
    "slow": slow,
    "classify": classify,
    "regress": regress,
}

if __name__ == "__main__":
    print(write_models(Path(sys.argv[1]).resolve(), seen_as="/models"))
