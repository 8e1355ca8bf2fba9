"""The page is opened in headless Chromium where there is one."""

import html
import re
import shutil
import subprocess
from urllib.parse import urlencode

import pytest

from keras_albert.serving.server.rest.page import page
from tests.serving.running_server import ask

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browse(server):
    """Opens the page with what stands behind `#`; returns what it shows."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"needs one of the browsers {', '.join(BROWSERS)}")

    def browse(**given):
        shown = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--virtual-time-budget=10000",
                "--dump-dom",
                f"{server.url}/#{urlencode(given)}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        answer = re.search(
            r'<div id="answer".*?</div>\s*<footer', shown.stdout, re.DOTALL
        )
        assert answer, shown.stdout + shown.stderr
        return html.unescape(re.sub("<[^>]+>", "\n", answer[0]))

    return browse


def test_the_page_asks_the_model(browse, server):
    shown = browse(model="albert", text="the film was good\n<b>中文</b>")
    _, _, body = ask(
        f"{server.url}/v1/models/albert:predict",
        {"instances": ["the film was good"]},
    )
    probability = re.search(rb"\[([\d.]+)", body)[1]

    assert "probabilities" in shown
    assert "<b>中文</b>" in shown  # as text, not as a tag
    assert f"{float(probability):.4g}" in shown


def test_the_page_shows_the_server_s_errors(browse):
    shown = browse(model="half", signature="fails", text="no number")

    assert "no number" in shown
    assert "StringToNumber" in shown


def test_the_page_needs_nothing_else():
    text = page(["a"])

    assert "http" not in text.replace("https://", "http://").replace(
        "http-equiv", ""
    )
    assert 'const models = ["a"];' in text


def test_no_name_can_end_the_script():
    assert "</script><script>alert" not in page(["</script><script>alert(1)"])


def test_the_page_is_protected(server):
    status, headers, body = ask(f"{server.url}/")

    assert status == 200
    assert headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert b'["albert", "half"]' in body
