"""The largest batch that fits, found with few compilations."""

MAX_COMPILATIONS = 4
# A batch this close to the largest is called the largest.
CLOSE = 0.02


def find_largest_batch(memory_of, batch_size, memory, per_example, capacity):
    """Returns the largest batch that was seen to fit.

    Memory grows with the batch almost in a straight line, so that each
    compilation says where the next one should be.

    Args:
        memory_of: function from a batch size to the bytes that its program
            needs, or to `None` if the compiler refuses it.
        batch_size: int. A batch that was compiled before.
        memory: int or `None`. Its bytes.
        per_example: float. A first guess of what an example adds.
        capacity: float. Bytes that there are.

    Returns:
        Int; 0 if not even one example was found to fit.

    Example:

    >>> find_largest_batch(lambda n: 100 + 9 * n, 10, 190, 8.0, 1000)
    100
    """
    too_large = None
    if memory is None or memory > capacity:
        too_large = batch_size
    best = 0 if too_large else batch_size
    points = [] if memory is None else [(batch_size, memory)]
    refused = memory is None
    for _ in range(MAX_COMPILATIONS):
        if refused:
            # Nothing is known but that it is too much.
            guess = (best + too_large) // 2
        else:
            guess = _along_the_line(points, per_example, capacity)
            guess = min(guess, (too_large or guess + 1) - 1)
        if guess <= best or guess - best < CLOSE * best:
            break
        needed = memory_of(guess)
        refused = needed is None
        if not refused:
            points.append((guess, needed))
        if refused or needed > capacity:
            too_large = guess
        else:
            best = guess
    return best


def _along_the_line(points, per_example, capacity):
    size, memory = points[-1]
    if len(points) > 1:
        before, less = points[-2]
        per_example = (memory - less) / (size - before)
    return max(1, size + int((capacity - memory) // per_example))
