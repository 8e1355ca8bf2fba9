"""The contract is in `contract/`; here is what only this server does."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2
from grpc_health.v1 import health_pb2_grpc
from tensorflow_serving.apis import model_management_pb2
from tensorflow_serving.apis import model_service_pb2_grpc
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

from keras_albert.serving.server.models.config import ModelConfig
from tests.serving.running_server import running_server


def predict(address, values, signature="", name="half"):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    dtype = None if signature else "float32"
    alias = {"": "x", "floats": "x"}.get(signature, "text")
    request.inputs[alias].CopyFrom(tf.make_tensor_proto(values, dtype))
    with grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return stub.Predict(request, timeout=30)


def test_a_message_that_is_too_large_is_refused(server):
    with pytest.raises(grpc.RpcError) as caught:
        predict(server.grpc, np.zeros(2**19, "float32"))

    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in caught.value.details()


def reload(address, *models):
    request = model_management_pb2.ReloadConfigRequest()
    for name, folder in models:
        request.config.model_config_list.config.add(
            name=name, base_path=str(folder), model_platform="tensorflow"
        )
    with grpc.insecure_channel(address) as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        return stub.HandleReloadConfigRequest(request, timeout=60).status


def test_another_list_of_models_and_the_end(models_config, tmp_path):
    folder = models_config.parent / "half"
    with running_server([ModelConfig("half", folder)]) as server:
        failed = reload(server.grpc, ("more", tmp_path / "none"))
        assert failed.error_code == 9
        assert reload(server.grpc).error_code == 3
        assert predict(server.grpc, [1.0]).outputs["y"].float_val[0] == 3.5

        done = reload(server.grpc, ("half", folder), ("more", folder))
        assert done.error_code == 0
        found = predict(server.grpc, [1.0], name="more")
        assert found.outputs["y"].float_val[0] == 3.5

        with grpc.insecure_channel(server.grpc) as channel:
            health = health_pb2_grpc.HealthStub(channel)
            server.run(server.server._grpc.become_unready())
            reply = health.Check(health_pb2.HealthCheckRequest(), timeout=5)
            assert reply.status == health_pb2.HealthCheckResponse.NOT_SERVING
