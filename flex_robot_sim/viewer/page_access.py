"""
Access to a page: the token in its printed address, and the cookie that replaces it.

Every user of the machine reaches a port of 127.0.0.1, so the server answers only requests that
carry the cookie. The printed address sets the cookie. Browsers then drop the token: the page
opens its socket without the query of its address.
"""

import contextlib
import functools
import secrets
from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import Any

import websockets.asyncio.server as websockets_server
from websockets.http11 import Request, Response

from flex_robot_sim.viewer.page_port import HOST

MessageCheck = Callable[[object], 'bytes | None']

MAX_MESSAGE_BYTES = 16_384  # from a browser; the longest, about a camera, has a few hundred
REFUSAL_TEXT = 'Open the address that the program has printed: it holds the token of this page.\n'
# a redirect by status code would count as part of the navigation from elsewhere, for which
# browsers hold back a strict cookie
SIGN_IN_PAGE = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; '
    'url=/"><title>flexsim</title>'
)


class PageAccess:
    """The token of one page, and the check of every request for it."""

    def __init__(self, port: int) -> None:
        token = secrets.token_urlsafe(32)
        self.origins = [None, f'http://{HOST}:{port}', f'http://localhost:{port}']
        self.path = f'/?token={token}'
        self._cookie = f'flexsim_{port}={token}'

    def answer(self, connection: Any, request: Request) -> Response | None:
        """Return the response in place of the page; None if access is granted."""
        if _is_equal(request.path, self.path):
            response = connection.respond(HTTPStatus.OK, SIGN_IN_PAGE)
            del response.headers['Content-Type']
            response.headers.update(
                {
                    'Content-Type': 'text/html; charset=utf-8',
                    'Cache-Control': 'no-store',
                    'Referrer-Policy': 'no-referrer',
                    'Set-Cookie': f'{self._cookie}; Path=/; HttpOnly; SameSite=Strict',
                }
            )
            return response
        if any(
            _is_equal(cookie.strip(), self._cookie)
            for header in request.headers.get_all('Cookie')
            for cookie in header.split(';')
        ):
            return None
        return connection.respond(HTTPStatus.FORBIDDEN, REFUSAL_TEXT)


@contextlib.contextmanager
def guarded(access: PageAccess, check_message: MessageCheck) -> Iterator[None]:
    """Protect the server that starts in this context; it reads checked messages only."""
    serve = websockets_server.serve
    websockets_server.serve = functools.partial(  # type: ignore
        _serve_guarded, serve, access, check_message
    )
    try:
        yield
    finally:
        websockets_server.serve = serve  # type: ignore


def _serve_guarded(serve, access, check_message, handler, host, port, process_request, **options):
    def answer(connection, request):
        refusal = access.answer(connection, request)
        return process_request(connection, request) if refusal is None else refusal

    async def handle(connection):
        connection.recv = functools.partial(_next_message, connection.recv, check_message)
        await handler(connection)

    return serve(
        handle,
        host,
        port,
        process_request=answer,
        origins=access.origins,
        **{**options, 'max_size': MAX_MESSAGE_BYTES},
    )


async def _next_message(
    receive: Callable[[], Awaitable[Any]], check_message: MessageCheck
) -> bytes:
    while (message := check_message(await receive())) is None:
        pass
    return message


def _is_equal(text: str, secret: str) -> bool:
    """Compare in constant time."""
    return secrets.compare_digest(text.encode('utf-8', 'surrogateescape'), secret.encode())
