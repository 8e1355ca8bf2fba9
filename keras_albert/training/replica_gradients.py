"""Optimizers under `tf.distribute`: sum over the replicas first, then the rest.

Keras's optimizers clip each replica's own gradients and sum what is left, so
that N devices clip otherwise than one; and they cannot accumulate gradients
there at all. Under one replica, and on other backends, nothing changes.
"""

from keras import ops

from keras_albert.models.own_rows import replica_context


class SumReplicasFirst:
    """Mixin before a Keras optimizer.

    Under a strategy with several replicas, gradients are summed over all of
    them before they are accumulated or clipped, as one device would see them.
    """

    _is_summed = False

    def _backend_apply_gradients(self, grads, trainable_variables):
        if replica_context() is None:
            super()._backend_apply_gradients(grads, trainable_variables)
            return
        grads = _sum_over_replicas(grads)
        self._is_summed = True
        try:
            if self.gradient_accumulation_steps:
                self._apply_accumulated(grads, trainable_variables)
            else:
                super()._backend_apply_gradients(grads, trainable_variables)
        finally:
            self._is_summed = False

    def _all_reduce_sum_gradients(self, grads_and_vars):
        if self._is_summed:
            return grads_and_vars
        return super()._all_reduce_sum_gradients(grads_and_vars)

    def _apply_accumulated(self, grads, trainable_variables):
        """Adds gradients up, and updates at every so-manyeth call.

        Keras decides between the two outside of the replicas' update, where
        TensorFlow allows no condition; here each replica decides for itself.
        """
        import tensorflow as tf

        if self.ema_overwrite_frequency:
            raise ValueError(
                "`ema_overwrite_frequency` does not work on several devices "
                "of TensorFlow. Leave it out: the averages are written into "
                "the weights at the end of `fit`."
            )
        steps = self.gradient_accumulation_steps
        sums = [
            self._accumulated_gradients[self._get_variable_index(v)]
            for v in trainable_variables
        ]
        totals = [g + s for g, s in zip(grads, sums, strict=True)]
        is_update = (self._iterations + 1) % steps == 0
        kept = [ops.where(is_update, ops.zeros_like(t), t) for t in totals]
        clipped = self._clip_gradients([total / steps for total in totals])

        def update(distribution, clipped, kept, is_update, rate):
            for variable, gradient, sum_, rest in zip(
                trainable_variables, clipped, sums, kept, strict=True
            ):
                distribution.extended.update(
                    variable.value,
                    self._update_if,
                    args=(gradient, is_update, rate),
                    group=False,
                )
                distribution.extended.update(
                    sum_.value,
                    lambda s, value: s.assign(value),
                    args=(rest,),
                    group=False,
                )

        tf.__internal__.distribute.interim.maybe_merge_call(
            update,
            self._distribution_strategy,
            clipped,
            kept,
            is_update,
            ops.convert_to_tensor(self.learning_rate),
        )
        if self.use_ema:
            self._update_model_variables_moving_average(
                self._trainable_variables
            )

    def _update_if(self, variable, gradient, is_update, rate):
        import tensorflow as tf

        def step():
            if self.weight_decay and self._decays_outside_of_step(variable):
                decay = tf.cast(rate * self.weight_decay, variable.dtype)
                variable.assign_sub(variable * decay)
            self.update_step(gradient, variable, rate)
            return tf.constant(0)

        return tf.cond(is_update, step, lambda: tf.constant(0))

    def _decays_outside_of_step(self, variable):
        """Whether Keras decays a weight before the step, as in AdamW."""
        return self._use_weight_decay(variable)


def _sum_over_replicas(grads):
    import tensorflow as tf

    # An embedding's gradient comes as slices; dense ones add up in one go.
    grads = [tf.convert_to_tensor(g) for g in grads]
    return replica_context().all_reduce("SUM", grads)
