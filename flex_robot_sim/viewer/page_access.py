"""
Access to a page: the token in its printed address, and the cookie that replaces it.

Every user of the machine reaches a port of 127.0.0.1, so the server answers only requests that
carry the cookie. The printed address sets the cookie. Browsers then drop the token: the page
opens its socket without the query of its address.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import Any

import websockets.asyncio.server as websockets_server
from websockets.http11 import Request, Response

from flex_robot_sim.viewer.port import HOST

Filter = Callable[[object], 'bytes | None']

MAX_MESSAGE = 16_384        # of a browser; the longest, about a camera, has a few hundred   [B]
REFUSAL = 'Open the address that the program has printed: it holds the token of this page.\n'
# a redirect by status code would count as part of the navigation from elsewhere, for which
# browsers hold back a strict cookie
SIGNED_IN = ('<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">'
             '<title>flexsim</title>')


class PageAccess:
    """The token of one page, and the check of every request for it."""

    def __init__(self, port: int) -> None:
        """Draw a token for the page at `port`."""
        token = secrets.token_urlsafe(32)
        self.origins = [None, f'http://{HOST}:{port}', f'http://localhost:{port}']
        self.path = f'/?token={token}'
        self._cookie = f'flexsim_{port}={token}'

    def answer(self, connection: Any, request: Request) -> Response | None:
        """Return what the server answers instead of the page; None if access is granted."""
        if _is_equal(request.path, self.path):
            response = connection.respond(HTTPStatus.OK, SIGNED_IN)
            del response.headers['Content-Type']
            response.headers.update({
                'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store',
                'Referrer-Policy': 'no-referrer',
                'Set-Cookie': f'{self._cookie}; Path=/; HttpOnly; SameSite=Strict'})
            return response
        if any(_is_equal(cookie.strip(), self._cookie)
               for header in request.headers.get_all('Cookie') for cookie in header.split(';')):
            return None
        return connection.respond(HTTPStatus.FORBIDDEN, REFUSAL)


@contextlib.contextmanager
def guarded(access: PageAccess, checked: Filter) -> Iterator[None]:
    """
    Guard the server that begins in this context.

    :param checked: returns a message of a browser as the server may read it, or None: dropped.
    """
    serve = websockets_server.serve
    websockets_server.serve = functools.partial(        # type: ignore
        _serve_guarded, serve, access, checked)
    try:
        yield
    finally:
        websockets_server.serve = serve                 # type: ignore


def _serve_guarded(serve, access, checked, handler, host, port, process_request, **options):
    def answer(connection, request):
        refused = access.answer(connection, request)
        return process_request(connection, request) if refused is None else refused

    async def handle(connection):
        connection.recv = functools.partial(_next_message, connection.recv, checked)
        await handler(connection)
    return serve(handle, host, port, process_request=answer, origins=access.origins,
                 **{**options, 'max_size': MAX_MESSAGE})


async def _next_message(receive: Callable[[], Awaitable[Any]], checked: Filter) -> bytes:
    while (message := checked(await receive())) is None:
        pass
    return message


def _is_equal(text: str, secret: str) -> bool:
    """Compare in a time that does not depend on where they differ."""
    return secrets.compare_digest(text.encode('utf-8', 'surrogateescape'), secret.encode())
