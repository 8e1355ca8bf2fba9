"""Depth that changes during training: start shallow, deepen, stay.

ALBERT calls one layer N times, so a model of 3 calls and one of 12 have the
same weights: training may begin with few calls and go on with more, without a
new variable or a lost moment, at a fraction of the cost.

Reference:
    Progressive stacking (Gong et al., 2019) copies layers to deepen BERT; with
    shared weights there is nothing to copy.
"""

import functools
import itertools

import keras
import numpy as np

from keras_albert.training.callbacks import StepCallback
from keras_albert.training.setting_checks import check_counts


def set_active_layers(model, count):
    """Sets how many layer calls a model makes, and has it compiled anew.

    Args:
        model: a task model with a `backbone`, such as `AlbertPretrainer`.
        count: int. At most `backbone.num_layers`.
    """
    encoder = model.backbone.encoder
    if encoder.active_layers == count:
        return
    encoder.active_layers = count
    # Keras keeps compiled functions over `fit` calls; these hold the old depth.
    for name in ("train", "test", "predict"):
        if getattr(model, f"{name}_function", None) is not None:
            _make_function(model, name)


def _make_function(model, name):
    """Compiles the train, test or predict function of a model anew."""
    if keras.backend.backend() == "jax":
        # JAX finds traces by equality of functions, and one bound method
        # equals another: a fresh object keeps it from taking the old depth's.
        step = f"{name}_step"
        fresh = functools.partial(getattr(type(model), step), model)
        setattr(model, step, fresh)
    getattr(model, f"make_{name}_function")(force=True)


class DepthSchedule(StepCallback):
    """Changes the number of layer calls at given steps of `fit`.

    Each change compiles the training step once more. The last depth should
    be the model's own, so that the model is saved as it was trained.

    Args:
        depths: dict from step to number of layer calls. Must have step 0.
        start_step: int. Steps done before the first `fit`. Defaults to 0.

    Example:

    ```python
    schedule = keras_albert.training.DepthSchedule({0: 3, 5000: 6, 8000: 12})
    pretrainer.fit(dataset, steps_per_epoch=10_000, callbacks=[schedule])
    ```
    """

    def __init__(self, depths, start_step=0):
        super().__init__(start_step)
        if 0 not in depths or min(depths) < 0:
            raise ValueError(
                "`depths` must say the depth at step 0 and at later steps. "
                f"Received steps: {sorted(depths)}."
            )
        self.depths = dict(sorted(depths.items()))

    def on_train_begin(self, logs=None):
        """Checks all depths before the first step."""
        check_depths(self.model, list(self.depths.values()))

    def on_train_batch_begin(self, batch, logs=None):
        """Changes the depth where the schedule says so."""
        set_active_layers(self.model, depth_at(self.depths, self.step))


class RandomDepth(StepCallback):
    """Draws the number of layer calls anew every few steps.

    One set of weights then works at several depths, so that inference may
    choose. Each depth is compiled once. Evaluations use all layers, and the
    model has all of them again when training ends.

    Args:
        depths: list of int. The depths to draw from.
        seed: int. The draw of a step depends on the seed and the step alone.
        every: int. Steps between draws. Defaults to `1`.
        start_step: int. Steps done before the first `fit`. Defaults to 0.
    """

    def __init__(self, depths, seed, every=1, start_step=0):
        super().__init__(start_step)
        depths = list(depths)
        if not depths:
            raise ValueError(
                f"There is no depth to draw. Received: depths={depths!r}. Name "
                "one at least."
            )
        for each in depths:
            check_counts(depths=each)
        self.depths = sorted(set(depths))
        self.seed = seed
        self.every = every
        self._train_functions = {}
        self._test_function = None

    def on_train_begin(self, logs=None):
        """Checks all depths, and forgets functions of an earlier `fit`."""
        check_depths(self.model, self.depths)
        self._train_functions = {}
        self._test_function = None

    def on_train_batch_begin(self, batch, logs=None):
        """Sets the depth of this step."""
        depth = self.depth_of(self.step)
        encoder = self.model.backbone.encoder
        if encoder.active_layers != depth:
            encoder.active_layers = depth
            if depth in self._train_functions:
                self.model.train_function = self._train_functions[depth]
            else:
                _make_function(self.model, "train")
        self._train_functions[depth] = self.model.train_function

    def on_test_begin(self, logs=None):
        """Evaluates with all layers."""
        self.model.backbone.encoder.active_layers = (
            self.model.backbone.num_layers
        )
        if self._test_function is None:
            _make_function(self.model, "test")
            self._test_function = self.model.test_function

    def on_train_end(self, logs=None):
        """Returns to all layers."""
        set_active_layers(self.model, self.model.backbone.num_layers)

    def depth_of(self, step):
        """Returns the depth of a step."""
        draw = np.random.default_rng([self.seed, step // self.every])
        return self.depths[draw.integers(len(self.depths))]


def check_depths(model, depths):
    """Raises `ValueError` unless a model can make so many layer calls.

    Args:
        model: a task model with a `backbone`.
        depths: list of int.
    """
    encoder = model.backbone.encoder
    low, high = encoder.num_groups, encoder.num_layers
    if not all(low <= depth <= high for depth in depths):
        raise ValueError(
            f"Each depth must lie between {low} and {high}. Received: {depths}."
        )


def depth_at(depths, step):
    """Returns the depth that holds at a step.

    Args:
        depths: dict from step to depth, in ascending order, from step 0.
        step: int.

    Example:

    >>> [depth_at({0: 3, 10: 6}, step) for step in (0, 9, 10, 99)]
    [3, 3, 6, 6]
    """
    begun = itertools.takewhile(lambda start: start <= step, depths)
    return depths[list(begun)[-1]]
