"""Build the site of the pages in this folder, and serve it on this machine: `./run docs`."""

import argparse
import errno
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAGES = Path(__file__).resolve().parent
HOST = '127.0.0.1'
PORTS = range(8280, 8300)  # the first free one is the default


def main(words=None):
    """Run with `words` (default: the command line); return the exit code."""
    parser = argparse.ArgumentParser(
        prog='./run docs',
        description='Build the pages of docs/ as a site, and serve it on this '
        'machine only, until Ctrl-C.',
        epilog='example: ./run docs --build site',
    )
    parser.add_argument('--build', metavar='DIR', help='build into this folder, and end')
    parser.add_argument(
        '--port',
        type=int,
        metavar='N',
        help=f'port (default: the first free one from {PORTS[0]} on)',
    )
    arguments = parser.parse_args(words)
    folder = Path(arguments.build or Path(sys.prefix) / 'site')
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.build:
            if build(folder):
                return 1
            print(folder / 'index.html')
            return 0
        with open_server(folder, arguments.port) as server:  # a taken port fails before the build
            if build(folder):
                return 1
            print(f'http://{HOST}:{server.server_port}  Ctrl-C ends it.', flush=True)
            server.serve_forever()
    except OSError as error:
        print(f'run docs: {_remedy(error, arguments)}', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        pass
    return 0


def build(folder):
    """Build the site into a folder; return 0, or another number after a warning."""
    from sphinx.cmd.build import main as sphinx

    # on a terminal Sphinx shows its progress
    quiet = [] if sys.stdout.isatty() else ['-q']
    return sphinx(
        [
            *quiet,
            '-W',
            '--keep-going',
            '-b',
            'html',
            '-d',
            f'{folder}/.doctrees',
            str(PAGES),
            str(folder),
        ]
    )


class Quiet(SimpleHTTPRequestHandler):
    """A server that logs no requests."""

    def log_message(self, *_):
        """Log nothing."""


def open_server(folder, port=None):
    """Return a server of a folder, on a port or the first free one."""
    *others, last = PORTS if port is None else [port]
    handler = partial(Quiet, directory=str(folder))
    for number in others:
        try:
            return ThreadingHTTPServer((HOST, number), handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return ThreadingHTTPServer((HOST, last), handler)


def _remedy(error, arguments):
    if error.errno == errno.EADDRINUSE:
        taken = arguments.port or f'{PORTS[0]} to {PORTS[-1]}'
        return f'port {taken} is in use on {HOST}. Choose another --port.'
    where = f'{error.filename}: ' if error.filename else ''
    return f'{where}{error.strerror or error}. Choose another --build.'


if __name__ == '__main__':
    sys.exit(main())
