"""Which models are served, from where, and which of their versions."""

import dataclasses
from pathlib import Path

from keras_albert.serving.protocol.paths import LARGEST_VERSION
from keras_albert.serving.server.extra import import_serving_api


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A model and the versions of it that are wanted.

    Args:
        name: string, the name in URLs.
        folder: path of the folder that holds the versions, `1/`, `2/`, ...
        num_latest: int. So many of the newest versions are served. Defaults
            to 1; `None` serves all.
        versions: tuple of int. Exactly these are served, where not empty.
        labels: dict from label to version.
    """

    name: str
    folder: Path
    num_latest: int | None = 1
    versions: tuple = ()
    labels: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        if not self.name or set("/:") & set(self.name):
            raise ValueError(
                "The name of a model must not be empty nor hold '/' or ':'. "
                f"Received: {self.name!r}."
            )
        if self.num_latest is not None and self.num_latest < 1:
            raise ValueError(
                f"At least the latest version of the model {self.name} must "
                f"be served. Received: num_latest={self.num_latest}."
            )
        object.__setattr__(self, "folder", Path(self.folder))

    def wanted(self, found):
        """Chooses the versions to serve.

        Args:
            found: iterable of int, the versions that exist.

        Returns:
            Set of int.

        >>> ModelConfig("m", "m", num_latest=2).wanted([3, 1, 2])
        {2, 3}
        """
        found = set(found)
        if self.versions:
            return found & set(self.versions)
        if self.num_latest is None:
            return found
        return set(sorted(found)[-self.num_latest :])


def find_versions(folder):
    """Lists the versions in a model's folder.

    Args:
        folder: path. Sub-folders whose names are integers are versions.

    Returns:
        Dict from version to path.
    """
    found = {}
    for path in sorted(Path(folder).iterdir()):
        is_number = path.name.isascii() and path.name.isdecimal()
        if is_number and path.is_dir() and int(path.name) <= LARGEST_VERSION:
            found.setdefault(int(path.name), path)
    return found


def model_in_folder(folder, name=None):
    """Takes the folder of one model as what is to be served.

    Args:
        folder: path of the folder that holds the versions.
        name: string. Defaults to the folder's name.

    Returns:
        `ModelConfig` for its latest version.

    Raises:
        FileNotFoundError: if there is no such folder, or no version in it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(
            f"There is no folder {folder}. Give the folder of a model, which "
            "holds its versions 1, 2, ..., as `keras-albert export` writes it."
        )
    if (folder / "saved_model.pb").is_file():
        raise FileNotFoundError(
            f"{folder} is one version. Give the folder that holds it: "
            f"{folder.resolve().parent}."
        )
    if not find_versions(folder):
        models = [p for p in sorted(folder.iterdir()) if _has_versions(p)]
        hint = f" Did you mean {models[0]}?" if models else ""
        raise FileNotFoundError(
            f"No version in {folder}: none of its sub-folders is named by a "
            f"number.{hint}"
        )
    return ModelConfig(name or folder.resolve().name, folder)


def _has_versions(path):
    return path.is_dir() and bool(find_versions(path))


def read_model_configs(path, models_folder=None):
    """Reads a `models.config` file: `ModelServerConfig` as text.

    Args:
        path: the file.
        models_folder: path. Where the models are if not at their `base_path`,
            which may be a container's: `/models/reviews` is then `reviews`
            in this folder.

    Returns:
        List of `ModelConfig`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it cannot be read or names a model twice.
    """
    from google.protobuf import text_format

    path = Path(path)
    message = import_serving_api(
        "config.model_server_config_pb2"
    ).ModelServerConfig()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
        configs = configs_from_message(message)
    except (text_format.ParseError, ValueError) as error:
        raise ValueError(
            f"{path} is no file of model configurations: {error}"
        ) from error
    if models_folder is None:
        return configs
    root = Path(models_folder)
    return [
        dataclasses.replace(config, folder=root / config.folder.name)
        for config in configs
    ]


def configs_from_message(message):
    """Reads a `ModelServerConfig` message.

    Args:
        message: `ModelServerConfig`.

    Returns:
        List of `ModelConfig`.

    Raises:
        ValueError: if it names a model twice, or none.
    """
    configs = [_config(c) for c in message.model_config_list.config]
    names = [config.name for config in configs]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            "A model_config_list must name at least one model, and each once. "
            f"Received: {names}."
        )
    return configs


def _config(message):
    policy = message.model_version_policy
    choice = policy.WhichOneof("policy_choice")
    if message.model_platform not in ("", "tensorflow"):
        raise ValueError(
            f"The platform of the model {message.name} must be tensorflow. "
            f"Received: {message.model_platform!r}."
        )
    return ModelConfig(
        message.name,
        message.base_path,
        num_latest=(
            None if choice == "all" else policy.latest.num_versions or 1
        ),
        versions=tuple(policy.specific.versions),
        labels=dict(message.version_labels),
    )
