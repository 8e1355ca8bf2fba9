"""What a platform team receives: models, how to run them, how to ask them.

DIR/NAME/1/                 a version: SavedModel with warm-up requests
DIR/deploy/README.md        the exact lines
DIR/deploy/config/          models, batching and monitoring
DIR/deploy/compose.yaml     one machine
DIR/deploy/kubernetes.yaml  a cluster
DIR/deploy/clients/         a client in Java
"""

from pathlib import Path

from keras_albert.data.whole_files import write_atomically
from keras_albert.export.saved_graph import describe_signature
from keras_albert.export.saved_graph import read_graph
from keras_albert.export.saved_graph import signatures_of
from keras_albert.export.version_folders import find_versions
from keras_albert.serving.bundle.config import CONFIG_FILE
from keras_albert.serving.bundle.config import DEPLOY_FOLDER
from keras_albert.serving.bundle.config import Release
from keras_albert.serving.bundle.config import batching_config
from keras_albert.serving.bundle.config import check_name
from keras_albert.serving.bundle.config import monitoring_config
from keras_albert.serving.bundle.config import read_releases
from keras_albert.serving.bundle.config import write_releases
from keras_albert.serving.bundle.containers import compose_file
from keras_albert.serving.bundle.containers import kubernetes_manifest
from keras_albert.serving.bundle.readme import MARK
from keras_albert.serving.bundle.readme import readme
from keras_albert.serving.bundle.release import STABLE
from keras_albert.serving.client.java import JAVA_CLIENT
from keras_albert.serving.client.java import java_client


def write_bundle(folder):
    """Writes the files beside a model that a server is run with.

    Files that are there are kept, as they may have been edited: only what is
    missing is written. A model that `models.config` does not name yet is added
    to it, its newest version as `stable`; other models and releases stay as
    they are. The README is written anew, unless someone has replaced it.

    Args:
        folder: path of the model's folder, which holds the versions; its name
            is the model's name.

    Returns:
        The path of the folder with the files.

    Raises:
        FileNotFoundError: if there is no version.
        ValueError: if the name cannot be served.

    Example:

    ```python
    export_saved_model(classifier, "served/reviews")
    write_bundle("served/reviews")
    ```
    """
    folder = Path(folder).resolve()
    check_name(folder.name)
    root, name = folder.parent, folder.name
    versions = find_versions(folder)
    if not versions:
        raise FileNotFoundError(
            f"There is no version in {folder}. Export a model to it first."
        )
    releases = read_releases(root / CONFIG_FILE)
    if name not in releases:
        releases[name] = Release(name, {STABLE: versions[-1]})
        write_releases(root / CONFIG_FILE, releases)
    deploy = root / DEPLOY_FOLDER
    for path, text in (
        ("config/batching.config", batching_config()),
        ("config/monitoring.config", monitoring_config()),
        ("compose.yaml", compose_file(name)),
        ("kubernetes.yaml", kubernetes_manifest(name)),
        (JAVA_CLIENT, java_client()),
    ):
        if not (deploy / path).exists():
            write_atomically(deploy / path, text)
    _write_readme(deploy / "README.md", root, releases)
    return deploy


def _write_readme(path, root, releases):
    if path.exists() and MARK not in path.read_text(encoding="utf-8"):
        return
    models, versions = {}, {}
    for name in sorted(releases):
        found = find_versions(root / name)
        if found:
            newest = found[-1]
            stable = releases[name].labels.get(STABLE, newest)
            versions[name] = stable, newest
            graph = read_graph(root / name / str(newest))
            models[name] = {
                signature: describe_signature(definition)
                for signature, definition in signatures_of(graph).items()
            }
    write_atomically(path, readme(models, versions))
