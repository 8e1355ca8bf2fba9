"""The largest batch that fits, found with few compilations."""

MAX_COMPILATIONS = 4
# A batch this close to the largest is called the largest.
CLOSE = 0.02


def find_largest_batch(
    memory_of, batch_size, memory, capacity, *, guess, per_example
):
    """Returns the largest batch that was seen to fit.

    Memory grows with the batch almost in a straight line, so that each
    compilation says where the next one should be. Where the compiler refuses,
    the batch is halved until it does not.

    Args:
        memory_of: function from a batch size to the bytes that its program
            needs, or to `None` if the compiler refuses it.
        batch_size: int. A batch that was compiled before.
        memory: int or `None`. Its bytes.
        capacity: float. Bytes that there are.
        guess: int. A first guess of the largest.
        per_example: float. A first guess of what an example adds.

    Returns:
        Int; 0 if not even one example fits.

    Example:

    >>> find_largest_batch(
    ...     lambda n: 100 + 9 * n, 10, 190, 1000, guess=70, per_example=8.0
    ... )
    100
    """
    too_large = None
    if memory is None or memory > capacity:
        too_large = batch_size
    best = 0 if too_large else batch_size
    points = [] if memory is None else [(batch_size, memory)]
    compilations = 0
    # A search that has found nothing goes on: it halves, and ends at 1.
    while compilations < MAX_COMPILATIONS or not best:
        size = guess
        if points:
            size = _along_the_line(points, per_example, capacity)
        size = max(size, 1)
        if too_large is not None and size >= too_large:
            # More than is known to be too much: the line is no help.
            size = (best + too_large) // 2
        if size <= best or size - best < CLOSE * best:
            break
        needed = memory_of(size)
        compilations += 1
        if needed is not None:
            points.append((size, needed))
        if needed is None or needed > capacity:
            too_large = size
        else:
            best = size
    return best


def _along_the_line(points, per_example, capacity):
    size, memory = points[-1]
    if len(points) > 1:
        before, less = points[-2]
        # A compiler may need less for more; such a line leads nowhere.
        if memory > less:
            per_example = (memory - less) / (size - before)
    return size + int((capacity - memory) // per_example)
