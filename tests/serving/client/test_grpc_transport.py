"""What the server says well is in `test_client.py`; here is the rest."""

import grpc
import pytest
from tensorflow_serving.apis import model_service_pb2
from tensorflow_serving.apis import prediction_service_pb2

from keras_albert.serving.client.grpc_transport import METHODS
from keras_albert.serving.client.grpc_transport import GrpcTransport
from keras_albert.serving.protocol.message_schema import messages
from keras_albert.serving.protocol.statuses import ServingError


def test_methods_are_the_official_ones():
    official = {
        f"/{service.full_name}/{method.name}"
        for module in (prediction_service_pb2, model_service_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }

    for name, (service, request, reply) in METHODS.items():
        assert f"{service}/{name}" in official
        assert {request, reply} <= set(messages())


def test_nobody_there():
    transport = GrpcTransport("127.0.0.1:1", "m")
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        transport.status(2)
    transport.close()


def test_headers_go_as_metadata():
    seen = []

    class Spy(grpc.GenericRpcHandler):
        def service(self, details):
            seen.extend(details.invocation_metadata)

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool, handlers=[Spy()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        transport = GrpcTransport(
            f"127.0.0.1:{port}", "m", headers={"Authorization": "secret"}
        )
        with pytest.raises(ServingError, match="UNIMPLEMENTED"):
            transport.signatures(5)
        transport.close()
        server.stop(0).wait()

    assert ("authorization", "secret") in [tuple(pair) for pair in seen]


@pytest.mark.parametrize(
    "value, text", [([1, "a"], "of one type"), (None, "strings and numbers")]
)
def test_examples_that_cannot_be_sent(value, text):
    transport = GrpcTransport("127.0.0.1:1", "m")
    with pytest.raises(ValueError, match=text):
        transport.classify("s", [{"a": value}], 1)
    transport.close()
