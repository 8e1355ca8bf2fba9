"""The configuration files of TensorFlow Serving, as text of its messages.

`models.config` says which versions are served and which labels they bear,
`batching.config` how requests are merged, `monitoring.config` where Prometheus
finds the metrics.
"""

import dataclasses
import functools
import re
from pathlib import Path

from google.protobuf import text_format

from keras_albert.data.whole_files import write_atomically
from keras_albert.serving.protocol.message_schema import TABLE
from keras_albert.serving.protocol.message_schema import message_classes
from keras_albert.serving.protocol.paths import METRICS_PATH

# Beside the models: how they are run.
DEPLOY_FOLDER = "deploy"
CONFIG_FILE = Path(DEPLOY_FOLDER, "config", "models.config")
# Where the container sees the models and these files.
MODELS_FOLDER = "/models"
CONFIG_FOLDER = "/config"

# Field numbers of TensorFlow Serving's .proto files.
CONFIG_TABLE = {
    "Latest": ["num_versions 1 uint32"],
    "All": [],
    "Specific": ["versions 1 [int64]"],
    "ModelVersionPolicy": [
        "latest 100 Latest | policy_choice",
        "all 101 All | policy_choice",
        "specific 102 Specific | policy_choice",
    ],
    "LabelEntry": ["key 1 string", "value 2 int64"],
    "ModelConfig": [
        "name 1 string",
        "base_path 2 string",
        "model_platform 4 string",
        "model_version_policy 7 ModelVersionPolicy",
        "version_labels 8 {int64}",
    ],
    "ModelConfigList": ["config 1 [ModelConfig]"],
    "ModelServerConfig": ["model_config_list 1 ModelConfigList"],
    "PrometheusConfig": ["enable 1 bool", "path 2 string"],
    "MonitoringConfig": ["prometheus_config 1 PrometheusConfig"],
    "BatchingParameters": TABLE["BatchingParameters"],
}


@dataclasses.dataclass(frozen=True)
class Release:
    """Which versions of a model are served, and under which labels.

    Args:
        name: string. The model's name in URLs.
        labels: dict from label to version.
        versions: tuple of int. What is served besides.
    """

    name: str
    labels: dict = dataclasses.field(default_factory=dict)
    versions: tuple = ()

    @property
    def served(self):
        """Sorted tuple of all versions that a server loads."""
        return tuple(sorted({*self.versions, *self.labels.values()}))


def read_releases(path):
    """Reads a `models.config`.

    Args:
        path: the file; it need not exist.

    Returns:
        Dict from the model's name to `Release`.

    Raises:
        ValueError: if the file is damaged, or holds what `release` could not
            write back.
    """
    path = Path(path)
    if not path.is_file():
        return {}
    message = _messages()["ModelServerConfig"]()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except text_format.ParseError as error:
        raise ValueError(
            f"{path} cannot be read: {error}. Edit it by hand, or move it away "
            "and export or release again."
        ) from error
    found = {}
    for config in message.model_config_list.config:
        policy = config.model_version_policy
        if policy.WhichOneof("policy_choice") in ("latest", "all"):
            raise ValueError(
                f"{path} serves the latest or all versions of {config.name}, "
                "not chosen ones. Edit it by hand, or replace that policy by "
                "`specific { versions: 1 }`."
            )
        found[config.name] = Release(
            config.name,
            labels=dict(config.version_labels),
            versions=tuple(policy.specific.versions),
        )
    return found


def write_releases(path, releases):
    """Writes a `models.config`, whole or not at all.

    Args:
        path: the file.
        releases: dict from the model's name to `Release`.
    """
    message = _messages()["ModelServerConfig"]()
    for name, release in sorted(releases.items()):
        config = message.model_config_list.config.add(
            name=name,
            base_path=f"{MODELS_FOLDER}/{name}",
            model_platform="tensorflow",
        )
        policy = config.model_version_policy.specific
        policy.versions.extend(release.served)
        for label, version in sorted(release.labels.items()):
            config.version_labels[label] = version
    write_atomically(path, text_format.MessageToString(message))


def batching_config():
    """The text of `batching.config`.

    No `allowed_batch_sizes`: a batch would be filled up to one of them with
    rows that nobody asked for, and the graph takes any size. And no
    `pad_variable_length_inputs`, which pads with a tensor's first element.
    """
    message = _messages()["BatchingParameters"]()
    message.max_batch_size.value = 128
    message.batch_timeout_micros.value = 2000
    message.max_enqueued_batches.value = 100
    message.num_batch_threads.value = 2
    message.thread_pool_name.value = "albert"
    return text_format.MessageToString(message)


def monitoring_config():
    """The text of `monitoring.config`."""
    message = _messages()["MonitoringConfig"]()
    message.prometheus_config.enable = True
    message.prometheus_config.path = METRICS_PATH
    return text_format.MessageToString(message)


def check_name(name):
    """Refuses names that URLs, containers and protocol texts do not bear.

    Args:
        name: string. The model's name, that of its folder.

    Raises:
        ValueError: that says which names are fine.
    """
    if name == DEPLOY_FOLDER:
        raise ValueError(
            f"A folder {DEPLOY_FOLDER!r} beside the models is for the files "
            "that run a server. Choose another name, such as "
            "`served/reviews`."
        )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(
            f"The folder's name {name!r} becomes the model's name in URLs. Use "
            "letters, digits, dots, dashes and underscores, such as "
            "`served/reviews`."
        )


@functools.cache
def _messages():
    return message_classes(CONFIG_TABLE)
