"""The client for programs in Java: one file that needs no library."""

from pathlib import Path

JAVA_CLIENT = Path("clients", "AlbertClient.java")


def java_client():
    """Reads the client's source, which a bundle brings along.

    Returns:
        String: Java 17.
    """
    path = Path(__file__).with_name(JAVA_CLIENT.name)
    return path.read_text(encoding="utf-8")
