"""`AlbertConfig`: the arguments of `AlbertBackbone` as a checked file."""

import difflib
import json
import numbers
from pathlib import Path
from typing import Annotated
from typing import Literal

import pydantic
import yaml
from pydantic_core import PydanticCustomError


def _as_number(value):
    """Refuses truth values, which Python counts; takes NumPy's numbers."""
    if isinstance(value, bool):
        raise PydanticCustomError("number", "Input should be a number")
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


_Number = pydantic.BeforeValidator(_as_number)
_Count = Annotated[pydantic.PositiveInt, _Number]
_Above0 = Annotated[pydantic.PositiveFloat, _Number]
_Rate = Annotated[float, pydantic.Field(ge=0, lt=1), _Number]


class AlbertConfig(pydantic.BaseModel):
    """Arguments of `AlbertBackbone`, read from YAML or JSON.

    Field names, meanings and defaults are those of `AlbertBackbone`. An
    unknown field is an error that names the nearest known one.

    Args:
        vocabulary_size: int or None. `None` takes it from the tokenizer of
            the run. Defaults to `None`.

    Example:

    >>> config = AlbertConfig(
    ...     num_layers=4, num_heads=4, embedding_dim=64, hidden_dim=128,
    ...     intermediate_dim=512,
    ... )
    >>> config.backbone_arguments(vocabulary_size=8000)["hidden_dim"]
    128
    """

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False
    )

    vocabulary_size: _Count | None = None
    num_layers: _Count
    num_heads: _Count
    embedding_dim: _Count
    hidden_dim: _Count
    intermediate_dim: _Count
    sharing: Literal["all", "attention", "ffn", "none"] = "all"
    num_groups: _Count = 1
    num_inner_repetitions: _Count = 1
    hidden_dropout: _Rate = 0.0
    attention_dropout: _Rate = 0.0
    activation: str = "gelu_tanh"
    max_sequence_length: _Count = 512
    num_segments: _Count = 2
    use_embedding_projection: bool | None = None
    layer_norm_epsilon: _Above0 = 1e-12
    initializer_range: _Above0 = 0.02
    unroll: bool = True
    remat: bool = False
    dtype: str | None = None

    def __init__(self, **fields):
        try:
            super().__init__(**fields)
        except pydantic.ValidationError as error:
            problems = [self._problem(each) for each in error.errors()]
            raise ValueError(" ".join(problems)) from None

    @classmethod
    def from_file(cls, path):
        """Reads a YAML or JSON file.

        Args:
            path: str or path. The file; `.json` is read as JSON, any other
                name as YAML.

        Returns:
            An `AlbertConfig`.

        Raises:
            FileNotFoundError: if there is no such file.
            ValueError: if the text is no mapping, a field is unknown or
                missing, or a value does not fit.
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(
                f"No configuration file {path}. Expected YAML or JSON with "
                "the arguments of `AlbertBackbone`."
            )
        mapping = _read_mapping(path)
        try:
            return cls(**mapping)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def _problem(cls, error):
        name = ".".join(str(part) for part in error["loc"])
        if error["type"] == "missing":
            return f"`{name}` is missing."
        if error["type"] != "extra_forbidden":
            return f"`{name}`: {error['msg']}. Received: {error['input']!r}."
        near = difflib.get_close_matches(name, cls.model_fields, n=1)
        advice = (
            f"Did you mean `{near[0]}`?"
            if near
            else f"Known fields: {', '.join(cls.model_fields)}."
        )
        return f"Unknown field `{name}`. {advice}"

    def backbone_arguments(self, vocabulary_size):
        """The keyword arguments for `AlbertBackbone`.

        Args:
            vocabulary_size: int. Size of the tokenizer's vocabulary.

        Returns:
            A dict.

        Raises:
            ValueError: if the file names another vocabulary size.
        """
        if self.vocabulary_size not in (None, vocabulary_size):
            raise ValueError(
                f"The configuration has vocabulary_size="
                f"{self.vocabulary_size}, the tokenizer has "
                f"{vocabulary_size}. Leave it out, or use the tokenizer that "
                "belongs to it."
            )
        return {**self.model_dump(), "vocabulary_size": vocabulary_size}


def _read_mapping(path):
    try:
        # With the mark that some editors put in front, or without.
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is no UTF-8 text. Expected YAML or JSON with the "
            "arguments of `AlbertBackbone`; save it as UTF-8."
        ) from None
    try:
        is_json = path.suffix == ".json"
        value = json.loads(text) if is_json else yaml.safe_load(text)
    except (json.JSONDecodeError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read: {problem}.") from None
    if not isinstance(value, dict) or not all(
        isinstance(name, str) for name in value
    ):
        raise ValueError(
            f"{path} holds {type(value).__name__}. Expected `name: value` "
            "lines with the arguments of `AlbertBackbone`."
        )
    return value
