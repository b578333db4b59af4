"""Ports of pages, on this machine only."""

import socket

from flex_robot_sim.util.exceptions import SettingError

HOST, FIRST_PORT, PORTS = '127.0.0.1', 8180, 50


def free_port(wish: int | None = None) -> int:
    """Return a port that nobody has: `wish`, or the first that is free; SettingError if none."""
    for port in [wish] if wish is not None else range(FIRST_PORT, FIRST_PORT + PORTS):
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
                if wish is not None:
                    raise taken(port) from None
    raise SettingError(f'all ports from {FIRST_PORT} to {FIRST_PORT + PORTS - 1} are taken. Name '
                       'another one')


def taken(port: int) -> SettingError:
    """Return the error about a port that somebody else has."""
    return SettingError(f'port {port} is taken. Name another one, or none for the next free one')
