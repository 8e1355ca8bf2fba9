"""Asking a server: the client for Python, and the file for Java."""
