"""Local ports of pages."""

import socket

from flex_robot_sim.util.exceptions import SettingError

HOST, FIRST_PORT, PORT_COUNT = '127.0.0.1', 8180, 50


def free_port(requested: int | None = None) -> int:
    """Return the requested port or the first free one; SettingError if there is none."""
    for port in (
        [requested] if requested is not None else range(FIRST_PORT, FIRST_PORT + PORT_COUNT)
    ):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
                return probe.getsockname()[1]
            except OverflowError as error:
                raise SettingError(f'port = {port} must be from 0 to 65535') from error
            except PermissionError as error:
                raise SettingError(f'port {port} is for root only. Take one above 1023') from error
            except OSError:
                if requested is not None:
                    raise port_taken_error(port) from None
    raise SettingError(
        f'all ports from {FIRST_PORT} to {FIRST_PORT + PORT_COUNT - 1} are taken. Name another one'
    )


def port_taken_error(port: int) -> SettingError:
    """Return the error about a port in use."""
    return SettingError(f'port {port} is taken. Name another one, or none for the next free one')
