import pytest

from keras_albert.training.plan_search import MAX_COMPILATIONS
from keras_albert.training.plan_search import find_largest_batch


class Program:
    """Needs 500 bytes and 9 an example, more above 60; refused above 2000."""

    def __init__(self):
        self.asked = []

    def needs(self, size):
        return 500 + 9 * size + max(0, size - 60)

    def memory_of(self, size):
        self.asked.append(size)
        return self.needs(size) if self.needs(size) <= 2000 else None


@pytest.mark.parametrize("guess, least", [(9.0, 104), (3.0, 80), (40.0, 104)])
def test_the_largest_batch_is_found_from_below(guess, least):
    program = Program()

    best = find_largest_batch(program.memory_of, 10, 590, guess, 1500)

    # 106 examples need 1,500 bytes.
    assert program.needs(106) == 1500
    assert least <= best <= 106
    assert len(program.asked) <= MAX_COMPILATIONS


def test_a_batch_that_is_too_large_is_lowered():
    program = Program()

    best = find_largest_batch(program.memory_of, 400, None, 9.0, 1500)

    assert 50 <= best <= 106
    assert program.needs(best) <= 1500


def test_nothing_fits():
    best = find_largest_batch(lambda size: None, 1, None, 9.0, 100)

    assert best == 0


def test_what_was_compiled_counts_where_nothing_larger_fits():
    program = Program()

    assert find_largest_batch(program.memory_of, 106, 1500, 9.0, 1500) == 106
    assert not program.asked
