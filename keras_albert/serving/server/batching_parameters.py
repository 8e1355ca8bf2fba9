"""How requests are merged: TensorFlow Serving's `batching.config`."""

import dataclasses
import os
from pathlib import Path

from google.protobuf import text_format

from keras_albert.serving.protocol.message_schema import messages


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """How requests that come at the same time are merged.

    Args:
        max_batch_size: int. Rows of a request at most, and of a batch.
            Defaults to 1000, the server's default.
        batch_timeout_micros: int. How long a batch that is not full waits for
            more. Defaults to 0: only while all threads are busy.
        max_enqueued_batches: int. Batches that may wait per signature; then
            requests are refused as UNAVAILABLE. Defaults to 10.
        num_batch_threads: int. Batches that are computed at a time. Defaults
            to the number of cores.
        allowed_batch_sizes: tuple of int, rising, the last one equal to
            `max_batch_size`; batches are filled up to the next of them.
            Defaults to `()`: any size.
        enable_large_batch_splitting: bool. Whether a request may be cut.
            Defaults to `False`.
        max_execution_batch_size: int. Rows of a batch where requests are cut.
            Defaults to `max_batch_size`.

    Raises:
        ValueError: if the numbers do not fit together.

    Example:

    ```python
    BatchingParameters(max_batch_size=32, batch_timeout_micros=2000)
    ```
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = dataclasses.field(
        default_factory=lambda: os.cpu_count() or 1
    )
    allowed_batch_sizes: tuple = ()
    enable_large_batch_splitting: bool = False
    max_execution_batch_size: int = 0

    def __post_init__(self):
        for name in ("max_batch_size", "max_enqueued_batches"):
            _check_least(name, getattr(self, name), 1)
        _check_least("num_batch_threads", self.num_batch_threads, 1)
        _check_least("batch_timeout_micros", self.batch_timeout_micros, 0)
        _check_least("max_execution_batch_size", self.batch_size, 1)
        if self.batch_size > self.max_batch_size:
            raise ValueError(
                "max_execution_batch_size must not exceed max_batch_size, "
                f"{self.max_batch_size}. Received: {self.batch_size}."
            )
        sizes = list(self.allowed_batch_sizes)
        if sizes and (
            sizes != sorted(set(sizes))
            or sizes[0] < 1
            or sizes[-1] != self.batch_size
        ):
            raise ValueError(
                "allowed_batch_sizes must rise and end with the largest batch "
                f"size, {self.batch_size}. Received: {sizes}."
            )

    @property
    def batch_size(self):
        """Rows of a batch at most."""
        if not self.enable_large_batch_splitting:
            return self.max_batch_size
        return self.max_execution_batch_size or self.max_batch_size

    def padded_size(self, size):
        """The number of rows that a batch of `size` rows is filled up to.

        >>> parameters = BatchingParameters(8, allowed_batch_sizes=(1, 4, 8))
        >>> parameters.padded_size(3)
        4
        """
        return next((s for s in self.allowed_batch_sizes if s >= size), size)


def _check_least(name, value, least):
    if value < least:
        raise ValueError(f"{name} must be at least {least}. Received: {value}.")


def read_batching_parameters(path):
    """Reads a `batching.config` file: `BatchingParameters` as text.

    Args:
        path: the file.

    Returns:
        `BatchingParameters`.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it cannot be read, asks for
            `pad_variable_length_inputs`, or its numbers do not fit together.
    """
    path = Path(path)
    message = messages()["BatchingParameters"]()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), message)
    except text_format.ParseError as error:
        raise ValueError(
            f"{path} is no file of batching parameters: {error}. Write it as, "
            "for example, `max_batch_size { value: 32 }`."
        ) from error
    if message.pad_variable_length_inputs:
        raise ValueError(
            f"{path} asks for pad_variable_length_inputs. TensorFlow Serving "
            "then pads with the first element of each tensor, which for token "
            "ids is [CLS] and for a mask 1: the answers would be wrong. Take "
            "it out, and send strings or rows of one length."
        )
    found = {
        field.name: getattr(value, "value", value)
        for field, value in message.ListFields()
        if field.name != "thread_pool_name"
    }
    if "allowed_batch_sizes" in found:
        found["allowed_batch_sizes"] = tuple(found["allowed_batch_sizes"])
    try:
        return BatchingParameters(**found)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
