"""Where the contract suite sends its requests."""

import os

import pytest


@pytest.fixture(scope="session")
def rest_url(request):
    """`TFS_URL`, a real TensorFlow Serving, or the local server."""
    if os.environ.get("TFS_URL"):
        return os.environ["TFS_URL"].rstrip("/")
    return request.getfixturevalue("server").url


@pytest.fixture(scope="session")
def grpc_address(request):
    """`TFS_GRPC`, a real TensorFlow Serving, or the local server."""
    if os.environ.get("TFS_GRPC"):
        return os.environ["TFS_GRPC"]
    if os.environ.get("TFS_URL"):
        pytest.skip("TFS_URL is set, TFS_GRPC is not: no gRPC server to ask")
    return request.getfixturevalue("server").grpc
