"""The schedule against Google's formula and hand-written tables."""

import pytest

from keras_albert.layers import layer_schedule
from keras_albert.layers.layer_schedule import shallow_calls


def test_each_policy_shares_what_it_says():
    assert layer_schedule("all", 3) == [(0, 0), (0, 0), (0, 0)]
    assert layer_schedule("attention", 3) == [(0, 0), (0, 1), (0, 2)]
    assert layer_schedule("ffn", 3) == [(0, 0), (1, 0), (2, 0)]
    assert layer_schedule("none", 3) == [(0, 0), (1, 1), (2, 2)]


def test_groups_are_consecutive_blocks():
    schedule = layer_schedule("all", 6, num_groups=3)

    assert [a for a, _ in schedule] == [0, 0, 1, 1, 2, 2]


def test_inner_repetitions_are_distinct_layers_of_one_call():
    schedule = layer_schedule("all", 2, num_inner_repetitions=2)

    assert schedule == [(0, 0), (1, 1), (0, 0), (1, 1)]


def test_attention_shared_by_group_with_own_feed_forward():
    schedule = layer_schedule("attention", 4, num_groups=2)

    assert schedule == [(0, 0), (0, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("num_layers", "num_groups"),
    [(1, 1), (2, 2), (5, 3), (7, 1), (7, 5), (12, 12), (24, 5), (24, 12)],
)
def test_group_index_is_googles(num_layers, num_groups):
    schedule = layer_schedule("all", num_layers, num_groups=num_groups)

    # modeling.py: group_idx = int(layer_idx / num_hidden_layers * groups),
    # in exact arithmetic.
    expected = [(i * num_groups) // num_layers for i in range(num_layers)]
    assert [a for a, _ in schedule] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sharing": "both", "num_layers": 2}, "sharing='both'"),
        ({"sharing": "all", "num_layers": 0}, "num_layers=0"),
        ({"sharing": "all", "num_layers": 2.0}, "num_layers=2.0"),
        (
            {"sharing": "all", "num_layers": 2, "num_groups": 3},
            "num_groups=3, num_layers=2",
        ),
    ],
)
def test_bad_sizes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        layer_schedule(**arguments)


def test_a_shallow_schedule_has_its_groups_from_calls_of_the_deep_one():
    for deep in range(1, 9):
        for groups in range(1, deep + 1):
            assert shallow_calls(deep, deep, groups) == list(range(deep))
            for shallow in range(groups, deep + 1):
                calls = shallow_calls(deep, shallow, groups)
                expected = layer_schedule("all", shallow, groups)
                whole = layer_schedule("all", deep, groups)
                assert [whole[call] for call in calls] == expected
                assert calls == sorted(calls)
