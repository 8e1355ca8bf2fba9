import pytest

from keras_albert.training.plan_chips import CHIPS
from keras_albert.training.plan_chips import parse_topology


@pytest.mark.parametrize(
    "name, num_cores",
    # JAX's device counts of these topologies, as its compiler lists them.
    [
        ("v2:2x2", 8),
        ("v3:2x2", 8),
        ("v4:2x2x1", 4),
        ("v5e:2x2", 4),
        ("v5e:8x16", 128),
        ("v5p:2x2x2", 8),
        ("v6e:1x1", 1),
        ("tpu7x:2x2x1", 8),
    ],
)
def test_cores_are_counted_as_jax_does(name, num_cores):
    topology = parse_topology(name)

    assert topology.num_cores == num_cores
    assert topology.name == name


def test_other_names_of_a_chip_are_understood():
    assert parse_topology("V5litepod:4x4").name == "v5e:4x4"
    assert parse_topology("ironwood:2x2x1").chip is CHIPS["tpu7x"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("v5d:2x2", "Did you mean v5"),
        ("h100:8", "Known chips: v2, v3, v4, v5e, v5p, v6e, tpu7x"),
        ("v5e", "no shape"),
        ("v5e:2xx2", "no shape"),
        ("v5e:2x2x2", "2 dimensions"),
        ("v4:2x2", "such as v4:2x2x1"),
        ("v5e:3x2", "even number"),
        ("v5e:0x2", "even number"),
    ],
)
def test_a_name_that_means_nothing_is_explained(text, words):
    with pytest.raises(ValueError, match=words):
        parse_topology(text)


def test_every_chip_names_its_source():
    assert all(chip.source for chip in CHIPS.values())
    # Google's tables give 240 operations for a byte of v5e's memory.
    v5e = CHIPS["v5e"]
    assert v5e.peak_flops / v5e.memory_bandwidth == pytest.approx(240, rel=0.01)
