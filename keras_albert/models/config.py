"""`AlbertConfig`: the arguments of `AlbertBackbone` as a checked file."""

import difflib
import json
from pathlib import Path
from typing import Literal

import pydantic
import yaml


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

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    vocabulary_size: pydantic.PositiveInt | None = None
    num_layers: pydantic.PositiveInt
    num_heads: pydantic.PositiveInt
    embedding_dim: pydantic.PositiveInt
    hidden_dim: pydantic.PositiveInt
    intermediate_dim: pydantic.PositiveInt
    sharing: Literal["all", "attention", "ffn", "none"] = "all"
    num_groups: pydantic.PositiveInt = 1
    num_inner_repetitions: pydantic.PositiveInt = 1
    hidden_dropout: float = pydantic.Field(0.0, ge=0, lt=1)
    attention_dropout: float = pydantic.Field(0.0, ge=0, lt=1)
    activation: str = "gelu_tanh"
    max_sequence_length: pydantic.PositiveInt = 512
    num_segments: pydantic.PositiveInt = 2
    use_embedding_projection: bool | None = None
    layer_norm_epsilon: pydantic.PositiveFloat = 1e-12
    initializer_range: pydantic.PositiveFloat = 0.02
    unroll: bool = True
    remat: bool = False
    dtype: str | None = None

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
        return cls._from_mapping(_read_mapping(path), source=path)

    @classmethod
    def _from_mapping(cls, mapping, source):
        try:
            return cls(**mapping)
        except pydantic.ValidationError as error:
            problems = [cls._problem(e) for e in error.errors()]
            raise ValueError(f"{source}: {' '.join(problems)}") from None

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
    text = path.read_text(encoding="utf-8")
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
