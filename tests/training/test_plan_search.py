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


@pytest.mark.parametrize(
    "per_example, least", [(9.0, 104), (3.0, 80), (40.0, 104)]
)
def test_the_largest_batch_is_found_from_below(per_example, least):
    program = Program()

    best = find_largest_batch(
        program.memory_of, 10, 590, 1500, guess=1, per_example=per_example
    )

    # 106 examples need 1,500 bytes.
    assert program.needs(106) == 1500
    assert least <= best <= 106
    assert len(program.asked) <= MAX_COMPILATIONS


@pytest.mark.parametrize("refused", [400, 4000, 100_000])
@pytest.mark.parametrize("guess", [60, 300, 5000])
def test_a_batch_that_is_refused_is_lowered_until_one_fits(refused, guess):
    program = Program()

    best = find_largest_batch(
        program.memory_of, refused, None, 1500, guess=guess, per_example=9.0
    )

    assert 50 <= best <= 106
    assert program.needs(best) <= 1500


def test_a_good_guess_spares_compilations():
    program = Program()

    find_largest_batch(
        program.memory_of, 100_000, None, 1500, guess=90, per_example=9.0
    )

    assert program.asked[0] == 90
    assert len(program.asked) <= 3


def test_nothing_fits():
    best = find_largest_batch(
        lambda size: None, 64, None, 100, guess=20, per_example=9.0
    )

    assert best == 0


def test_what_was_compiled_counts_where_nothing_larger_fits():
    program = Program()

    best = find_largest_batch(
        program.memory_of, 106, 1500, 1500, guess=1, per_example=9.0
    )

    assert best == 106
    assert not program.asked


def test_a_compiler_that_needs_less_for_more_does_not_mislead():
    needs = {10: 500, 60: 450, 61: 455}

    def memory_of(size):
        return needs.get(size, 10 * size)

    best = find_largest_batch(
        memory_of, 10, 500, 1000, guess=1, per_example=10.0
    )

    assert 61 <= best <= 100
