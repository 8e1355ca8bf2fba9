"""How a server is started: a compose file and a Kubernetes manifest."""

import re

import yaml

from keras_albert.serving.bundle.config import CONFIG_FOLDER
from keras_albert.serving.bundle.config import MODELS_FOLDER
from keras_albert.serving.protocol.paths import METRICS_PATH
from keras_albert.serving.protocol.paths import model_path

IMAGE = "tensorflow/serving:2.20.0"
GRPC_PORT = 8500
REST_PORT = 8501
# Seconds between two looks at models.config.
POLL_SECONDS = 60
FLAGS = (
    f"--model_config_file={CONFIG_FOLDER}/models.config",
    f"--model_config_file_poll_wait_seconds={POLL_SECONDS}",
    f"--monitoring_config_file={CONFIG_FOLDER}/monitoring.config",
    "--enable_batching=true",
    f"--batching_parameters_file={CONFIG_FOLDER}/batching.config",
    # At the start no version is loaded yet, and labels would stop the server.
    "--allow_version_labels_for_unavailable_models=true",
    # A bad version must show at once, not after five minutes of retries.
    "--max_num_load_retries=0",
    "--rest_api_timeout_in_ms=10000",
    "--enable_grpc_healthcheck_service=true",
)


def metadata_path(name):
    """The URL's path that answers 200 when, and only when, a model is loaded.

    The status of a model is 200 while it still loads, too.
    """
    return f"{model_path(name)}/metadata"


def compose_file(name):
    """Writes the text of `compose.yaml`.

    Args:
        name: string. The model whose readiness is the container's.

    Returns:
        String, YAML.
    """
    # The image has neither curl nor wget.
    probe = (
        f"exec 3<>/dev/tcp/127.0.0.1/{REST_PORT} && "
        f"printf 'GET {metadata_path(name)} HTTP/1.0\\r\\n\\r\\n' >&3 && "
        "head -n1 <&3 | grep -q ' 200 '"
    )
    service = {
        "image": IMAGE,
        "command": list(FLAGS),
        "ports": [f"{port}:{port}" for port in (GRPC_PORT, REST_PORT)],
        "volumes": [f"..:{MODELS_FOLDER}:ro", f"./config:{CONFIG_FOLDER}:ro"],
        "restart": "unless-stopped",
        "healthcheck": {
            "test": ["CMD", "bash", "-c", probe],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": "120s",
        },
    }
    return _as_yaml([{"services": {"albert": service}}])


def kubernetes_manifest(name):
    """Writes the text of `kubernetes.yaml`: a Deployment and a Service.

    Args:
        name: string. The model whose readiness is the pod's.

    Returns:
        String, YAML.
    """
    app = kubernetes_name(name)
    labels = {"app": app}
    ready = {"httpGet": {"path": metadata_path(name), "port": REST_PORT}}
    container = {
        "name": "serving",
        "image": IMAGE,
        "args": list(FLAGS),
        "ports": [
            {"name": "grpc", "containerPort": GRPC_PORT},
            {"name": "rest", "containerPort": REST_PORT},
        ],
        # Loading: up to ten minutes, in which nothing else is asked.
        "startupProbe": {**ready, "periodSeconds": 5, "failureThreshold": 120},
        # Ready: requests are sent here only while the model answers.
        "readinessProbe": {**ready, "periodSeconds": 5, "failureThreshold": 2},
        # Alive: the process answers, whatever its models do.
        "livenessProbe": {
            "grpc": {
                "port": GRPC_PORT,
                "service": "PredictionService",
            },
            "periodSeconds": 10,
            "failureThreshold": 3,
        },
        # The endpoint is taken out of the service before the process ends.
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", "15"]}}},
        "resources": {
            "requests": {"cpu": "2", "memory": "1Gi"},
            "limits": {"memory": "2Gi"},
        },
        "volumeMounts": [
            {"name": "models", "mountPath": MODELS_FOLDER, "readOnly": True},
            {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
        ],
    }
    metrics = {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(REST_PORT),
        "prometheus.io/path": METRICS_PATH,
    }
    pod = {
        "terminationGracePeriodSeconds": 60,
        "containers": [container],
        "volumes": [
            {
                "name": "models",
                "persistentVolumeClaim": {
                    "claimName": f"{app}-models",
                    "readOnly": True,
                },
            },
            {"name": "config", "configMap": {"name": f"{app}-config"}},
        ],
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
            },
            "template": {
                "metadata": {"labels": labels, "annotations": metrics},
                "spec": pod,
            },
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app, "labels": labels},
        "spec": {
            "selector": labels,
            "ports": [
                {"name": "grpc", "port": GRPC_PORT, "targetPort": "grpc"},
                {"name": "rest", "port": REST_PORT, "targetPort": "rest"},
            ],
        },
    }
    return _as_yaml([deployment, service])


def kubernetes_name(name):
    """Makes a name that Kubernetes takes: it begins with a letter.

    >>> kubernetes_name("Shop_Reviews.v2"), kubernetes_name("2026")
    ('shop-reviews-v2', 'model-2026')
    """
    plain = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    if not plain[0].isalpha():
        plain = f"model-{plain}"
    return plain[:50].strip("-")


def _as_yaml(documents):
    return yaml.safe_dump_all(documents, sort_keys=False, width=100)
