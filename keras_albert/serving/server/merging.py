"""Rows of several requests -> one batch, and its answers back to each."""

import numpy as np

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.protocol.statuses import invalid


def num_rows(tensors):
    """The number of rows of a request.

    Args:
        tensors: dict from input name to NumPy array.

    Returns:
        Int.

    Raises:
        ServingError: INVALID_ARGUMENT if an input has no rows, or not as many
            as the others.
    """
    if any(array.ndim == 0 for array in tensors.values()):
        raise invalid(
            "Batching session Run() input tensors must have at least one "
            "dimension"
        )
    sizes = {len(array) for array in tensors.values()}
    if len(sizes) != 1:
        raise invalid(
            "Batching session Run() input tensors must have equal 0th-dimension"
            f" size. Received: {sorted(sizes)}."
        )
    return sizes.pop()


def row_shapes(tensors):
    """What the rows of two requests must share to stand in one batch."""
    return tuple((name, a.shape[1:]) for name, a in sorted(tensors.items()))


def merge(requests, padded_size):
    """Puts the rows of requests one after the other.

    Args:
        requests: list of dict from input name to NumPy array.
        padded_size: int. The first row of the last request is repeated up to
            so many rows, as in the server.

    Returns:
        Dict from input name to NumPy array with `padded_size` rows.
    """
    merged = {}
    for name in requests[0]:
        arrays = [request[name] for request in requests]
        missing = padded_size - sum(map(len, arrays))
        if missing:
            arrays.append(np.repeat(arrays[-1][:1], missing, axis=0))
        merged[name] = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
    return merged


def split(outputs, sizes, padded_size):
    """Cuts the outputs of a batch into those of each request.

    Args:
        outputs: dict from output name to NumPy array of `padded_size` rows.
        sizes: list of int, the rows of each request.
        padded_size: int.

    Returns:
        List of dict from output name to NumPy array.

    Raises:
        ServingError: FAILED_PRECONDITION if an output has not as many rows as
            the batch.
    """
    for array in outputs.values():
        if array.ndim == 0:
            raise ServingError(
                "FAILED_PRECONDITION",
                "Batched output tensor has 0 dimensions",
            )
        if len(array) != padded_size:
            raise ServingError(
                "FAILED_PRECONDITION",
                "Batched output tensor's 0th dimension does not equal the sum "
                "of the 0th dimension sizes of the input tensors",
            )
    parts = []
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        parts.append({name: array[part] for name, array in outputs.items()})
        start += size
    return parts


def cut(tensors, size):
    """Cuts a request into requests of at most `size` rows."""
    rows = num_rows(tensors)
    return [
        {name: array[i : i + size] for name, array in tensors.items()}
        for i in range(0, rows, size)
    ]


def join(parts):
    """Puts the answers to the parts of a request together again."""
    return {
        name: np.concatenate([part[name] for part in parts])
        for name in parts[0]
    }
