"""What keras-hub's tasks get wrong for us, put right once for all of ours.

- `save_to_preset` after `fit` writes the optimizer's slots among the task
  weights, three times the size; ours writes weights alone.
- A reloaded `.keras` file of a task has lost its optimizer; ours keeps it,
  with its slots and iteration.
- On several machines, `fit` fails under TensorFlow and `predict` under JAX;
  ours work.
- In float16 on several devices of TensorFlow, a gradient that overflows on one
  may go into the weights; ours skips the step.
"""

import contextlib

import keras

from keras_albert.models.foreign_presets import FromForeignPreset
from keras_albert.models.loss_scale import scale_together
from keras_albert.models.own_rows import on_every_process


class AlbertTask(FromForeignPreset):
    """Mixin before a keras-hub `Task`: presets without, `.keras` with slots."""

    def compile(self, *args, **kwargs):
        """Configures training; see the class.

        Args:
            *args, **kwargs: as `keras.Model.compile`.
        """
        super().compile(*args, **kwargs)
        self.optimizer = scale_together(self.optimizer)

    def save_to_preset(self, preset_dir, **kwargs):
        """Saves configuration, weights and tokenizer, never the optimizer.

        Args:
            preset_dir: path of the folder to write.
            **kwargs: as keras-hub's `Task.save_to_preset`.
        """
        with _without_optimizer(self):
            super().save_to_preset(preset_dir, **kwargs)

    def load_task_weights(self, filepath):
        """Loads the heads' weights; the optimizer stays as it is.

        Args:
            filepath: path of a `.weights.h5` file.
        """
        with _without_optimizer(self):
            super().load_task_weights(filepath)

    def get_compile_config(self):
        """Returns how the model was compiled, and whether slots exist."""
        config = super().get_compile_config()
        if config is not None:
            config["has_slots"] = bool(self.optimizer and self.optimizer.built)
        return config

    def compile_from_config(self, config):
        """Compiles with a saved `get_compile_config()`, slots included.

        Keras skips this for models that override `compile`, as tasks do.
        """
        config = keras.saving.deserialize_keras_object(config)
        has_slots = config.pop("has_slots")
        if config.get("jit_compile"):
            # Keras stores what "auto" came to on the backend that saved.
            # Taken literally on PyTorch, it compiles for minutes.
            config["jit_compile"] = "auto"
        self.compile(**config)
        if has_slots and not self.optimizer.built:
            # They must exist before the file's values are read into them.
            self.optimizer.build(self.trainable_variables)

    def predict_step(self, *args):
        """Predicts a batch; every process gets all rows of it."""
        result = super().predict_step(*args)
        if keras.backend.backend() != "jax":
            return result
        outputs, *state = result
        return on_every_process(outputs), *state

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Builds a model under a TensorFlow strategy, from one replica's rows.

        Keras 3.15 averages the rows of all replicas instead, which fails when
        some belong to other workers.
        """
        strategy = self._distribute_strategy
        if iterator is not None and strategy is not None:
            _, _, batches = next(iter(iterator))
            data_batch = keras.tree.map_structure(
                lambda part: strategy.experimental_local_results(part)[0],
                next(batches),
            )
        super()._maybe_symbolic_build(data_batch=data_batch)


@contextlib.contextmanager
def _without_optimizer(model):
    optimizer = model.optimizer
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer
