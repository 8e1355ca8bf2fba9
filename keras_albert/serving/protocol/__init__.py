"""What server, clients and bundle agree on: codes, types, messages, URLs."""
