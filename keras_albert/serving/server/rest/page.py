"""The page at `/`: try a model in the browser."""

import functools
import json
from pathlib import Path


@functools.cache
def _template():
    return Path(__file__).with_name("page.html").read_text(encoding="utf-8")


def page(models):
    """Writes the page; it needs nothing but this server.

    Args:
        models: list of string, the names of the models.

    Returns:
        String: HTML.
    """
    # No name may end the script it stands in.
    names = json.dumps(models).replace("<", "\\u003c")
    return _template().replace("/*models*/[]", names)
