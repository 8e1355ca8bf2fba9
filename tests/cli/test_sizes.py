import re

from keras_albert.models.sizes import SIZES


def test_every_size_is_listed_with_its_published_weights(run_command):
    result = run_command("sizes")

    assert result.exit_code == 0
    assert all(name in result.output for name in SIZES)
    row = re.search(r"albert_xxlarge +\d.*", result.output).group()
    # 222.6 M weights are published; 12 calls unshared would be 11 more.
    assert row.split()[:5] == ["albert_xxlarge", "12", "4096", "222.6", "M"]
    assert "buys no speed" in result.output


def test_longer_text_costs_more(run_command):
    short, long = (
        re.search(r"albert_base .* ([\d.]+) G", run_command(*line).output)
        for line in (
            ("sizes", "--sequence-length", "128"),
            ("sizes", "--sequence-length", "4096"),
        )
    )

    assert float(short.group(1)) < float(long.group(1))
