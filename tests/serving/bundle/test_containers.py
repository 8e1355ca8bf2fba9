"""Compose file and Kubernetes manifest, read back as YAML."""

import pytest
import yaml

from keras_albert.serving.bundle.containers import FLAGS
from keras_albert.serving.bundle.containers import compose_file
from keras_albert.serving.bundle.containers import kubernetes_manifest
from keras_albert.serving.bundle.containers import kubernetes_name

METADATA = "/v1/models/reviews/metadata"


def test_compose():
    (service,) = yaml.safe_load(compose_file("reviews"))["services"].values()

    assert service["command"] == list(FLAGS)
    assert service["image"].startswith("tensorflow/serving:2.")
    assert service["ports"] == ["8500:8500", "8501:8501"]
    # The compose file lies in a folder beside the models.
    assert service["volumes"] == ["..:/models:ro", "./config:/config:ro"]
    test = service["healthcheck"]["test"]
    assert test[:3] == ["CMD", "bash", "-c"]
    assert f"GET {METADATA} HTTP/1.0" in test[3]


def test_the_health_check_tells_ready_from_not(tmp_path):
    """Its shell line against an HTTP server that answers 200 or 404."""
    import http.server
    import subprocess
    import threading

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == METADATA else 404)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    codes = []
    for name in ("reviews", "other"):
        text = yaml.safe_load(compose_file(name))
        *_, line = text["services"]["albert"]["healthcheck"]["test"]
        line = line.replace("/8501", f"/{server.server_port}")
        codes.append(subprocess.run(["bash", "-c", line]).returncode)
    server.shutdown()

    assert codes == [0, 1]


def test_kubernetes_probes():
    deployment, service = yaml.safe_load_all(kubernetes_manifest("reviews"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    # 404 until the model is loaded; its status is 200 while it loads, too.
    for probe in ("startupProbe", "readinessProbe"):
        get = container[probe]["httpGet"]
        assert get == {"path": METADATA, "port": 8501}
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 300
    alive = container["livenessProbe"]["grpc"]
    assert alive == {"port": 8500, "service": "PredictionService"}
    assert "--enable_grpc_healthcheck_service=true" in container["args"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert deployment["spec"]["selector"]["matchLabels"] == labels


def test_kubernetes_volumes_are_those_that_flags_name():
    deployment, _ = yaml.safe_load_all(kubernetes_manifest("Reviews_2"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    mounted = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    assert mounted == {"models": "/models", "config": "/config"}
    assert all(mount["readOnly"] for mount in container["volumeMounts"])
    names = {v["name"]: v for v in pod["volumes"]}
    assert names["config"]["configMap"] == {"name": "reviews-2-config"}
    claim = names["models"]["persistentVolumeClaim"]
    assert claim["claimName"] == "reviews-2-models"


def test_flags_are_written_once():
    names = [flag.split("=")[0] for flag in FLAGS]

    assert len(names) == len(set(names))
    assert all(flag.startswith("--") and "=" in flag for flag in FLAGS)


@pytest.mark.parametrize(
    "name, valid",
    [
        ("reviews", "reviews"),
        ("A__b.C", "a-b-c"),
        ("x" * 90, "x" * 50),
        ("2026", "model-2026"),
    ],
)
def test_kubernetes_names(name, valid):
    assert kubernetes_name(name) == valid
