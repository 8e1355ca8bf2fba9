"""One run in several processes: the chief writes, all of them agree.

Every process makes the same calls in the same order, since they compute
together. What the others write goes to a folder that is forgotten.
"""

import contextlib
import json
import tempfile
from pathlib import Path

from keras_albert.data.masking import default_num_predictions
from keras_albert.training import preflight
from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import optimizer_slots
from keras_albert.training.plan_estimate import state_bytes
from keras_albert.training.plan_estimate import temporary_bytes
from keras_albert.training.run_folder import RunFolder
from keras_albert.training.run_folder import check_run_folder
from keras_albert.training.run_folder import claim_run_folder


@contextlib.contextmanager
def ready_together(distribution):
    """Holds while each process gets ready; ends all if one cannot.

    What is raised inside in one process would leave the others waiting for it.

    Args:
        distribution: `Distribution`.

    Raises:
        ConnectionAbortedError: in the processes that are ready, with what the
            others say.
    """
    if distribution.num_processes == 1:
        yield
        return
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        distribution.gather_texts(str(error) or type(error).__name__)
        raise
    for index, text in enumerate(distribution.gather_texts("")):
        if text:
            raise ConnectionAbortedError(f"Process {index} ended: {text}")


def check_same_settings(distribution, described):
    """Raises `ValueError` in all processes unless they do the same.

    Args:
        distribution: `Distribution`.
        described: dict of plain values that decide what the run computes.
    """
    if distribution.num_processes == 1:
        return
    first, *others = map(
        json.loads, distribution.gather_texts(json.dumps(described))
    )
    for index, other in enumerate(others, 1):
        different = [
            f"{key} is {first.get(key)!r} in process 0, {other.get(key)!r} in "
            f"process {index}"
            for key in dict.fromkeys([*first, *other])
            if first.get(key) != other.get(key)
        ]
        if different:
            raise ValueError(
                "The processes of a run need the same settings. Received: "
                f"{'; '.join(different)}. Start the same command in each."
            )


def check_devices(distribution, settings, output, read=()):
    """Raises an error if a run cannot work on its devices.

    Args:
        distribution: `Distribution`.
        settings: `RunSettings`.
        output: string or path.
        read: paths or patterns of the text or data.

    Raises:
        ValueError, PermissionError: see `preflight`.
    """
    # On this machine the sources found their files, patterns included.
    read = read if distribution.has_remote_devices else ()
    preflight.check_paths(distribution, written=[output], read=read)
    preflight.check_batches(distribution, settings.spans, settings.accumulate)
    preflight.check_model_shards(distribution, settings.backbone)
    available = preflight.device_memory()
    for span in settings.spans:
        preflight.check_memory(
            lambda examples, span=span: _step_bytes(settings, span, examples),
            available,
            batch_size=span.batch_size // settings.accumulate,
            num_replicas=distribution.num_replicas,
        )


def claim_together(distribution, output, described):
    """Claims the folder of a run for all of its processes.

    Args:
        distribution: `Distribution`.
        output: string or path.
        described: dict, as for `claim_run_folder`.

    Returns:
        `RunFolder`.

    Raises:
        FileExistsError: as `claim_run_folder`.
        ConnectionAbortedError: if another process cannot claim it.
        FileNotFoundError: in all processes, if one does not see the folder.
    """
    with ready_together(distribution):
        if distribution.is_chief:
            claim_run_folder(output, described)
    # Only now: half a claim would look like a folder of something else.
    with ready_together(distribution):
        folder = check_run_folder(output, described)
    seen = distribution.gather(int(folder.settings.is_file()))
    if not all(seen):
        blind = [index for index, found in enumerate(seen) if not found]
        raise FileNotFoundError(
            f"Processes {blind} do not see {folder.path}, which process 0 "
            "made. Name an output folder on a file system that all machines "
            "share."
        )
    return folder


@contextlib.contextmanager
def own_folder(distribution, folder):
    """Yields the folder that this process writes to.

    Args:
        distribution: `Distribution`.
        folder: `RunFolder` of the run.
    """
    if distribution.is_chief:
        yield folder
        return
    with tempfile.TemporaryDirectory() as path:
        yield RunFolder(Path(path))


def check_same_start(distribution, step):
    """Raises `OSError` unless all processes start at the same step.

    Args:
        distribution: `Distribution`.
        step: int.
    """
    steps = distribution.gather(step)
    if len(set(steps)) > 1:
        raise OSError(
            f"The processes found different states, of the steps {steps}. "
            "Wait until the shared file system shows all files everywhere, "
            "then start them again."
        )


def _step_bytes(settings, span, examples):
    shape = StepShape(
        settings.backbone,
        batch_size=examples,
        sequence_length=span.sequence_length,
        num_predictions=default_num_predictions(span.sequence_length),
        active_layers=span.num_layers,
    )
    slots = optimizer_slots(settings.optimizer)
    return state_bytes(shape, slots) + temporary_bytes(shape)
