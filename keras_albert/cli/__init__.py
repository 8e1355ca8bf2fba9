"""The `keras-albert` command: parse, call the library, show."""
