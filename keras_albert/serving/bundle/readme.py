"""The README of a bundle: the exact lines, with the models' own names."""

import json

from keras_albert.export.warm_up_records import EXAMPLE_KINDS
from keras_albert.serving.bundle.containers import GRPC_PORT
from keras_albert.serving.bundle.containers import IMAGE
from keras_albert.serving.bundle.containers import POLL_SECONDS
from keras_albert.serving.bundle.containers import REST_PORT
from keras_albert.serving.bundle.containers import kubernetes_name
from keras_albert.serving.bundle.containers import metadata_path
from keras_albert.serving.client.java import JAVA_CLIENT

# A README without this line is someone's own and is left alone.
MARK = "<!-- Written by keras-albert; remove this line to keep your edits. -->"

TEXTS = {
    "text": "The room was clean and the staff were kind.",
    "text_a": "The room was clean.",
    "text_b": "The staff were kind.",
}
MASKED_TEXT = "The room was very [MASK]."


def readme(models, versions):
    """Writes the README.

    Args:
        models: dict from the model's name to its signatures, described as
            `describe_signature` does.
        versions: dict from the model's name to the numbers of the version
            that is stable and of the newest one.

    Returns:
        String, Markdown.
    """
    first = next(iter(models))
    return (
        "\n\n".join(
            [
                "# Serving with TensorFlow Serving",
                MARK,
                _run(first),
                _release(first, *versions[first]),
                *(_model(name, models[name]) for name in models),
            ]
        )
        + "\n"
    )


def _run(name):
    app = kubernetes_name(name)
    address = f"http://localhost:{REST_PORT}"
    return f"""\
The folder above this one holds the models, each with its versions `1/`, `2/`,
... Nothing here needs Python: any TensorFlow Serving from 2.18 on runs the
models, `{IMAGE}` for example. It has neither passwords nor TLS nor a limit on
the size of requests; put a proxy before it.

## One machine

```shell
docker compose up --detach --wait
curl --fail {address}{metadata_path(name)}
```

The second line answers 200 when, and only when, the model is loaded.
`{address}/v1/models/{name}` tells its state, also while it loads or after it
has failed. For Prometheus: `{address}/monitoring/prometheus/metrics`.

In the log, look for `unknown argument` (a mistyped flag does not stop the
server) and for the number of warm-up records that were read.

Without a container, for trying it out (`pip install "keras-albert[serving]"`):

```shell
keras-albert serve --model-config-file config/models.config --models-folder ..
```

## Kubernetes

```shell
kubectl create configmap {app}-config --from-file=config \\
    --dry-run=client --output=yaml | kubectl apply --filename=-
kubectl apply --filename=kubernetes.yaml
kubectl rollout status deployment/{app}
```

The manifest takes the models from the volume claim `{app}-models`, which must
hold the folder above. Its probes tell loading (startup), ready (readiness: the
model is loaded) and alive (liveness: the process answers) apart. Adjust the
memory: two versions are loaded during a release."""


def _release(name, stable, newest):
    trial = newest if newest > stable else newest + 1
    lines = [
        (f"release ../{name} --canary {trial}", f"on trial beside {stable}"),
        (f"release ../{name} --stable {trial}", "for all"),
        (f"release ../{name} --stable {stable}", "back again"),
    ]
    if trial > newest:
        export = f"export --model MODEL --output ../{name}"
        lines.insert(0, (export, f"writes ../{name}/{trial}"))
    width = max(len(command) for command, _ in lines)
    shell = "\n".join(
        f"keras-albert {command:{width}}  # {what}" for command, what in lines
    )
    return f"""\
## Releases

A new version is served when `config/models.config` says so; the server looks
at it every {POLL_SECONDS} seconds (in Kubernetes, apply the configmap again).
When this file was written, version {stable} of `{name}` was stable and
{newest} the newest. Next, with a minute between two steps:

```shell
{shell}
```

Requests to `/v1/models/{name}/labels/stable:predict` get the stable version,
those to `labels/canary` the one on trial, `versions/{stable}` a certain one.
Without any of them the newest loaded version answers: in production, ask for
`labels/stable`. The version that was stable before stays loaded under the
label `previous`, so that going back is one step. Without keras-albert, edit
the file: a label must only be moved to a version that is loaded already."""


def _model(name, signatures):
    lines = [
        f"## The model `{name}`",
        "All first dimensions are free and equal; a batch of none is "
        "answered. Bytes that are not UTF-8 count as U+FFFD. Texts are cut to "
        "the length that the model was made for.",
        "| signature | inputs | outputs |\n| --- | --- | --- |\n"
        + "\n".join(
            f"| `{signature}` | {_tensors(shapes['inputs'])} | "
            f"{_tensors(shapes['outputs'])} |"
            for signature, shapes in sorted(signatures.items())
        ),
        *_notes(signatures),
        "```shell\n" + "\n".join(_curl_lines(name, signatures)) + "\n```",
        "The same through gRPC (`pip install tensorflow-serving-api`):",
        _grpc_example(name, signatures["serving_default"]),
        *_java_example(name, signatures["serving_default"]),
    ]
    return "\n\n".join(lines)


def _tensors(tensors):
    return ", ".join(
        f"`{name}` {dtype} ({_sizes(shape)})"
        for name, (dtype, shape) in sorted(tensors.items())
    )


def _sizes(shape):
    return ", ".join("N" if size == -1 else str(size) for size in shape)


def _notes(signatures):
    if "fill_mask" in signatures:
        yield (
            "`fill_mask` finds `[MASK]` in the text; other special tokens "
            "typed there are ordinary text. Row by row it gives the likeliest "
            "`tokens`, as they stand in the vocabulary, and their `scores` at "
            "the first masks; `num_masks` says how many there are, and the "
            'places after them hold `""` and 0.'
        )
    if "embed" in signatures:
        yield (
            "`pooled` is the vector of the pooler, `mean_pooled` the mean over "
            "the text's tokens, which is the better one for comparing texts "
            "when the model was not fine-tuned."
        )


def _curl_lines(name, signatures):
    url = f"http://localhost:{REST_PORT}/v1/models/{name}"
    for signature, shapes in sorted(signatures.items()):
        if signature == "tokens":  # too long to print
            continue
        verb = signature if signature in EXAMPLE_KINDS else "predict"
        body = {"signature_name": signature}
        if signature == "serving_default":
            del body["signature_name"]
        if verb != "predict":
            body["examples"] = [{"text": TEXTS["text"]}]
        else:
            body["instances"] = [_instance(shapes)]
        yield f"curl {url}:{verb} --data '{json.dumps(body)}'"


def _instance(shapes):
    texts = dict(TEXTS)
    if "num_masks" in shapes["outputs"]:
        texts["text"] = MASKED_TEXT
    return {name: texts[name] for name in shapes["inputs"]}


def _grpc_example(name, shapes):
    text = _instance(shapes)["text"]
    outputs = sorted(shapes["outputs"])
    return f"""\
```python
import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

channel = grpc.insecure_channel(
    "localhost:{GRPC_PORT}", options=[("grpc.max_receive_message_length", -1)]
)
service = prediction_service_pb2_grpc.PredictionServiceStub(channel)
request = predict_pb2.PredictRequest()
request.model_spec.name = "{name}"
request.model_spec.version_label = "stable"
request.inputs["text"].CopyFrom(tf.make_tensor_proto(["{text}"]))
answer = service.Predict(request, timeout=5.0)
for output in {outputs}:
    print(output, tf.make_ndarray(answer.outputs[output]))
```"""


def _java_example(name, shapes):
    """Lines for the client in Java, which asks classifiers."""
    if set(shapes["outputs"]) != {"label", "probabilities"}:
        return
    program = f"java {JAVA_CLIENT.name} --url http://127.0.0.1:{REST_PORT}"
    yield f"""\
From Java 17 on, without any library, the label and its probability for each
line of a text file in UTF-8:

```shell
cd {JAVA_CLIENT.parent}
{program} --model {name} < lines.txt
{program} --model {name} --label stable "{TEXTS["text"]}"
```

In a program, copy `{JAVA_CLIENT}` into it:

```java
var client = new AlbertClient(
    "http://127.0.0.1:{REST_PORT}", "{name}",
    new AlbertClient.Options().label("stable"));
for (var answer : client.classify(List.of("{TEXTS["text"]}"))) {{
    System.out.println(answer.label() + " " + answer.probabilities());
}}
```"""
