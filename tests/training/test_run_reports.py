import io

from rich.console import Console

from keras_albert.training.published_recipe import make_recipe
from keras_albert.training.run_reports import describe_step
from keras_albert.training.run_reports import show_recipe


def test_the_bar_shows_losses_and_speed():
    record = {
        "masked_lm_loss": 2.346,
        "sentence_order_accuracy": 0.625,
        "tokens_per_second": 5120.4,
    }

    assert (
        describe_step(record)
        == "MLM loss 2.35, SOP accuracy 62%, 5,120 tokens/s"
    )


def test_the_recipe_is_shown_with_its_warnings():
    console = Console(file=io.StringIO(), width=200)

    show_recipe(make_recipe("published", 64, 768), console)

    text = console.file.getvalue()
    assert "√(64/4,096)" in text
    assert "64 is fewer" in text
