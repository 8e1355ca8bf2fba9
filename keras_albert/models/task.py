"""What keras-hub's tasks get wrong for us, put right once for all of ours.

- `save_to_preset` after `fit` writes the optimizer's slots among the task
  weights, three times the size; ours writes weights alone.
- A preset whose file of the head's weights is missing loads with a random head;
  ours is refused.
- A reloaded `.keras` file of a task has lost its optimizer; ours keeps it,
  with its slots and iteration.
- A preset saved in mixed precision fails to load; ours loads like a backbone's.
- `quantize` stops at a tokenizer half-way, or makes a task whose files do not
  load; ours quantizes the backbone.
- On several machines, `fit` fails under TensorFlow and `predict` under JAX;
  ours work.
- Under TensorFlow, `fit` traces its first step twice, which takes seconds for a
  deep model and keeps both graphs; ours traces once.
- In float16 on several devices of TensorFlow, a gradient that overflows on one
  may go into the weights; ours skips the step.
"""

import contextlib
from pathlib import Path

import keras

from keras_albert.models.foreign_presets import FromForeignPreset
from keras_albert.models.loss_scale import scale_together
from keras_albert.models.own_rows import on_every_process
from keras_albert.models.preset_dtype import with_known_dtype
from keras_albert.tokenizers.vocabulary_folder import read_json


class AlbertTask(FromForeignPreset):
    """Mixin before a keras-hub `Task`: presets without, `.keras` with slots."""

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a preset of ours or of another library.

        Args:
            preset: string. A folder, or a name on a hub such as
                `"hf://albert/albert-base-v2"`. Folders of Hugging Face,
                keras-hub and Google's code are converted.
            load_weights: bool. Whether the weights are loaded, too. Defaults
                to `True`.
            **kwargs: arguments that replace the stored ones, such as `dtype`.
                With `num_classes` a classifier's head is new, and has no
                labels but those given.
        """
        if "num_classes" in kwargs:
            kwargs.setdefault("labels", None)
        elif load_weights:
            _check_head_weights(Path(preset), cls.__name__)
        return super().from_preset(preset, load_weights=load_weights, **kwargs)

    @classmethod
    def _from_own_preset(cls, preset, **kwargs):
        return super()._from_own_preset(
            preset, **with_known_dtype(preset, kwargs)
        )

    def compile(self, *args, **kwargs):
        """Configures training; see the class.

        Args:
            *args, **kwargs: as `keras.Model.compile`.
        """
        super().compile(*args, **kwargs)
        self.optimizer = scale_together(self.optimizer)

    def quantize(self, mode=None, config=None, filters=None, **kwargs):
        """Quantizes the backbone; heads stay in the precision they have.

        Heads are small, and saved files tell the precision of a backbone's
        layers alone.

        Args:
            mode, config, filters, **kwargs: as `keras.Model.quantize`.
        """
        self.backbone.quantize(mode, config=config, filters=filters, **kwargs)
        self.train_function = self.test_function = self.predict_function = None
        self._post_quantize(mode)

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
        if config is not None and self.optimizer is not None:
            # Inside, where no argument of `compile` is looked for: a clone is
            # compiled from this by Keras itself.
            config["optimizer"]["has_slots"] = bool(self.optimizer.built)
        return config

    def compile_from_config(self, config):
        """Compiles with a saved `get_compile_config()`, slots included.

        Keras skips this for models that override `compile`, as tasks do.
        """
        has_slots = (config.get("optimizer") or {}).get("has_slots", False)
        config = keras.saving.deserialize_keras_object(config)
        # Files of earlier versions have it here.
        has_slots |= config.pop("has_slots", False)
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

    def make_train_function(self, force=False):
        """Makes the function that trains; its optimizer has slots by then."""
        if self._builds_before_tracing and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force=force)

    @property
    def _builds_before_tracing(self):
        """Whether TensorFlow would make variables in, and so repeat, a trace.

        Under a strategy Keras makes them before.
        """
        return (
            keras.backend.backend() == "tensorflow"
            and self._distribute_strategy is None
            and not self.run_eagerly
        )

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Builds what has variables, before the first step is traced.

        On one device Keras 3.15 leaves that to the trace. Under a strategy it
        averages the rows of all replicas for an example, which fails when some
        belong to other workers; here it is one replica's rows.
        """
        strategy = self._distribute_strategy
        if iterator is not None and self._builds_before_tracing:
            self._build_losses_and_metrics(
                iterator._distributed_dataset.element_spec
            )
        elif iterator is not None and strategy is not None:
            _, _, batches = next(iter(iterator))
            data_batch = keras.tree.map_structure(
                lambda part: strategy.experimental_local_results(part)[0],
                next(batches),
            )
        super()._maybe_symbolic_build(data_batch=data_batch)

    def _build_losses_and_metrics(self, batch):
        parts = (self._compile_loss, self._compile_metrics)
        if all(part is None or part.built for part in parts):
            return
        x, y, weights = keras.utils.unpack_x_y_sample_weight(
            keras.tree.map_structure(_one_example, batch)
        )
        if y is None:
            return
        if weights is not None:
            weights = keras.tree.map_structure(keras.ops.ones_like, weights)
        outputs = keras.tree.map_structure(
            _one_example, self.compute_output_spec(x)
        )
        self.compute_loss(x, y, outputs, weights)
        self.compute_metrics(x, y, outputs, weights)
        self.reset_metrics()


def _one_example(spec):
    """Zeros of a shape and dtype, 1 for each size that is not known."""
    shape = [1 if size is None else size for size in spec.shape]
    shape[:1] = [1] * len(shape[:1])
    return keras.ops.zeros(shape, keras.backend.standardize_dtype(spec.dtype))


def _check_head_weights(folder, class_name):
    if not (folder / "task.json").is_file():
        return
    task = read_json(folder / "task.json")
    weights = folder / "task.weights.h5"
    if task.get("class_name") == class_name and not weights.is_file():
        raise FileNotFoundError(
            f"The preset {folder} has lost {weights.name}, the weights of its "
            "head. Copy the whole folder again, or pass num_classes for a new "
            "head of a classifier."
        )


@contextlib.contextmanager
def _without_optimizer(model):
    optimizer = model.optimizer
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer
