"""What a pretraining run leaves behind."""

import dataclasses
from pathlib import Path

from keras_albert.models.loading import load_model
from keras_albert.training.published_recipe import Recipe


@dataclasses.dataclass(frozen=True)
class PretrainResult:
    """What a pretraining run left behind.

    Attributes:
        history: list of records, one per evaluation; see `training.curves`.
        masked_lm_floor: float. Nats per held-out target of guessing by token
            frequency alone; compare `val_masked_lm_loss`.
        masked_lm_accuracy_floor: float. The same for the accuracy.
        preset: path of the folder with backbone, heads and tokenizer.
        curves: path of the picture.
        history_file: path of the records.
        steps_file: path of the records of every step; see
            `training.step_log`.
        resumed_from: int. The step this call started at; 0 for a new run.
        num_train_documents, num_evaluation_documents: int; `None` where
            shards were held out.
        num_train_tokens: int. Tokens of the training text, one pass.
        num_parameters: int. Weights of the model, heads included.
        learning_rate: float. The peak rate.
        recipe: `published_recipe.Recipe`. What was derived, and why.
        alarms: list of `watchdog.Alarm`, of this call and of earlier ones.
        seconds: float. Wall time of this call.
        is_chief: bool. Whether this process wrote the files; of several
            processes one does.
    """

    history: list
    masked_lm_floor: float
    masked_lm_accuracy_floor: float
    preset: Path
    curves: Path
    history_file: Path
    steps_file: Path
    resumed_from: int
    num_train_documents: int | None
    num_evaluation_documents: int | None
    num_train_tokens: int
    num_parameters: int
    learning_rate: float
    recipe: Recipe
    alarms: list
    seconds: float
    is_chief: bool = True

    @property
    def final(self):
        """The last record of the history."""
        return self.history[-1]


def load_pretrained(result_or_folder):
    """Returns the `AlbertPretrainer` of a finished run.

    Args:
        result_or_folder: `PretrainResult`, or the path of its output folder.
    """
    if isinstance(result_or_folder, PretrainResult):
        return load_model(result_or_folder.preset)
    return load_model(Path(result_or_folder) / "preset")
