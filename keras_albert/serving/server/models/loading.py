"""From a version's folder to a model that has answered once."""

import logging
import time

log = logging.getLogger(__name__)


def open_version(version, metrics):
    """Loads a version and warms it up. Takes seconds.

    Args:
        version: `Version`.
        metrics: `Metrics`.

    Returns:
        `LoadedModel`.

    Raises:
        ServingError: if it does not load, or not answer its warm-up records.
    """
    # TensorFlow takes seconds to import; a wrong command line need not.
    from keras_albert.serving.server.models.loaded_model import LoadedModel
    from keras_albert.serving.server.models.warm_up import warm_up

    path = str(version.folder)
    try:
        model = LoadedModel(version.folder)
    except BaseException:
        metrics.load_attempts.add(path, "fail")
        raise
    metrics.load_attempts.add(path, "success")
    if model.unservable:
        log.warning(
            "TensorFlow Serving cannot run the operations %s of %s.",
            *(", ".join(model.unservable), path),
        )
    started = time.monotonic()
    try:
        num_records = warm_up(model)
    except BaseException:
        model.close()
        raise
    if num_records:
        micros = 1e6 * (time.monotonic() - started)
        metrics.warm_up_latency.observe(micros, path, "OK")
    return model
