"""How long training waits for its data, on every backend.

    batch wanted ── stamp ── batch made or fetched ── stamp ── batch handed on

Both stamps are taken inside of the dataset, at the moment a step asks for a
batch. What is made ahead in the background costs no waiting and is not counted.
"""


class WaitClock:
    """Adds up the time that the reader of a dataset waits for batches.

    Attributes:
        seconds: float. Waited so far.

    Example:

    >>> import tensorflow as tf
    >>> clock = WaitClock()
    >>> len(list(clock.watch(tf.data.Dataset.range(3))))
    3
    >>> clock.seconds > 0
    True
    """

    def __init__(self):
        self.seconds = 0.0

    def watch(self, dataset):
        """Returns a dataset of the same batches that is timed.

        Args:
            dataset: `tf.data.Dataset`.
        """
        import tensorflow as tf

        plain = tf.autograph.experimental.do_not_convert
        # `zip` asks one after the other for a stamp, a batch and a stamp.
        stamps = tf.data.Dataset.counter().map(plain(lambda _: tf.timestamp()))

        def hand_on(began, batch, ended):
            noted = tf.numpy_function(self._add, [began, ended], tf.float64)
            with tf.control_dependencies([noted]):
                return tf.nest.map_structure(tf.identity, batch)

        timed = tf.data.Dataset.zip((stamps, dataset, stamps))
        timed = timed.map(plain(hand_on))
        options = tf.data.Options()
        # Else TensorFlow asks ahead, and nobody waits at the stamps.
        options.experimental_optimization.inject_prefetch = False
        return timed.with_options(options)

    def _add(self, began, ended):
        self.seconds += float(ended - began)
        return ended
