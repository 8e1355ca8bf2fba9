"""Whether ports can be had, before models are loaded for minutes."""

import errno
import socket

_WHY = {
    errno.EADDRINUSE: "is in use. Choose another, or 0 for any that is free",
    errno.EACCES: "is kept for the system. Choose one above 1023",
}


def check_free(host, ports):
    """Refuses ports that cannot be listened at.

    Args:
        host: string, a name or an address of this machine.
        ports: iterable of int; 0 is any that is free.

    Raises:
        OSError: that names the port, or the host if there is no such one.
    """
    for port in ports:
        tried = [_refusal(*address) for address in _addresses(host, port)]
        errors = [error for error in tried if error is not None]
        # A name may stand for an IPv6 address, too, that is not set up here.
        certain = [error for error in errors if error.errno in _WHY]
        if certain or len(errors) == len(tried):
            error = (certain or errors)[0]
            why = _WHY.get(error.errno, f"cannot be used: {error}")
            raise OSError(error.errno, f"The port {port} of {host} {why}.")


def _refusal(family, kind, protocol, _, address):
    """The error that listening at an address would give, or `None`."""
    try:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        return error
    return None


def _addresses(host, port):
    try:
        return socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as error:
        raise OSError(
            f"The host {host!r} is no address of this machine: "
            f"{error.strerror}. Choose 127.0.0.1 for this machine alone, or "
            "0.0.0.0 to let others in."
        ) from error
