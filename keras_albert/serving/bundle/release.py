"""Canary, release and rollback: which version of a model has which label."""

import dataclasses
from pathlib import Path

from keras_albert.export.version_folders import find_versions
from keras_albert.serving.bundle.config import CONFIG_FILE
from keras_albert.serving.bundle.config import Release
from keras_albert.serving.bundle.config import read_releases
from keras_albert.serving.bundle.config import write_releases

STABLE = "stable"
CANARY = "canary"
# What was stable before stays loaded, so that a rollback is one step.
PREVIOUS = "previous"


def release(folder, stable=None, canary=None):
    """Chooses the versions that a server loads, and their labels.

    `models.config` beside the model is replaced as a whole; a running server
    looks at it once a minute. It loads what is new, moves the labels, and
    unloads what has none. As it refuses to move a label to a version that it
    has not loaded, a new version is first the canary, then stable.

    Args:
        folder: path of the model's folder, `.../reviews`, which holds the
            versions.
        stable: int. The version for all; defaults to what it is. The one
            before keeps the label `previous`.
        canary: int. The version on trial; `None` ends a trial.

    Returns:
        `Release`.

    Raises:
        FileNotFoundError: if a version does not exist.
        ValueError: if a running server would refuse the change.

    Example:

    ```python
    # Version 1 is stable, version 2 has been exported beside it.
    release("served/reviews", canary=2)  # try it: labels/canary
    release("served/reviews", stable=2)  # all requests, 1 stays loaded
    release("served/reviews", stable=1)  # back again
    ```
    """
    folder = Path(folder).resolve()
    name, config_file = folder.name, folder.parent / CONFIG_FILE
    found = find_versions(folder)
    if not found:
        raise FileNotFoundError(
            f"There is no version in {folder}. Give the folder of a model, as "
            "`keras-albert export` writes it."
        )
    for version in {stable, canary} - {None, *found}:
        raise FileNotFoundError(
            f"There is no version {version} in {folder}. Found: "
            f"{', '.join(map(str, found))}."
        )
    releases = read_releases(config_file)
    now = releases.get(name, Release(name))
    if stable is None and STABLE not in now.labels:
        raise ValueError(
            f"No version of {name} is stable yet. Say which one: --stable "
            f"{found[-1]}."
        )
    releases[name] = changed(now, stable, canary)
    write_releases(config_file, releases)
    return releases[name]


def changed(now, stable=None, canary=None):
    """Says what a release makes of the present state.

    Args:
        now: `Release`.
        stable: int or `None`, see `release`.
        canary: int or `None`, see `release`.

    Returns:
        `Release`.

    >>> changed(Release("m", {"stable": 1, "canary": 2}), stable=2).labels
    {'stable': 2, 'previous': 1}
    """
    old = now.labels.get(STABLE)
    new = old if stable is None else stable
    _check_move(now, STABLE, new)
    _check_move(now, CANARY, canary)
    labels = {STABLE: new}
    previous = now.labels.get(PREVIOUS) if new == old else old
    if previous is not None and previous != new:
        labels[PREVIOUS] = previous
    if canary is not None:
        labels[CANARY] = canary
    return dataclasses.replace(now, labels=labels, versions=())


def _check_move(now, label, version):
    """A label that exists may only go where a version is loaded already."""
    moves = label in now.labels and now.labels[label] != version
    if version is None or not moves or version in now.served:
        return
    if label == CANARY:
        first = f"keras-albert release {now.name} (which ends the trial)"
    else:
        first = f"keras-albert release {now.name} --canary {version}"
    raise ValueError(
        f"Version {version} of {now.name} is not served yet, and a running "
        f"server refuses to move the label {label!r} to it. First, with the "
        f"model's folder: {first}; then, when the server has taken that, this "
        "command again."
    )
