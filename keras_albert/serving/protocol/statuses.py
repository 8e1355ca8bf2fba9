"""The status codes of TensorFlow, gRPC and HTTP, and the error of them all."""

# TensorFlow Serving's table; the names are gRPC's, too.
HTTP_CODES = {
    "OK": 200,
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "UNKNOWN": 500,
    "INTERNAL": 500,
    "DATA_LOSS": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


class ServingError(Exception):
    """A request that was not answered.

    Attributes:
        code: string, such as `"INVALID_ARGUMENT"`: TensorFlow's and gRPC's
            name of what went wrong.
        message: string.

    Example:

    ```python
    try:
        client.predict(texts)
    except ServingError as error:
        if error.code == "DEADLINE_EXCEEDED":
            ...
    ```
    """

    def __init__(self, code, message):
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self):
        return f"{self.code}: {self.message}"


def invalid(message):
    """The error for a request that can never be answered."""
    return ServingError("INVALID_ARGUMENT", message)


def code_of_http(status):
    """Finds the code that an HTTP status stands for.

    Where several do, the commonest; statuses of proxies become the code a
    caller would treat alike.

    >>> code_of_http(404), code_of_http(502)
    ('NOT_FOUND', 'UNAVAILABLE')
    """
    more = {408: "DEADLINE_EXCEEDED", 413: "INVALID_ARGUMENT"}
    for code, number in {**HTTP_CODES, "ABORTED": None}.items():
        if number == status and code != "UNKNOWN":
            return code
    if status in more:
        return more[status]
    if status == 502:
        return "UNAVAILABLE"
    return "INVALID_ARGUMENT" if 400 <= status < 500 else "UNKNOWN"
