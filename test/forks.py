"""
Programs forked off a process that has done what they begin with, one after the other.

For programs of a few lines: to import Numba or matplotlib takes longer than all that they do.
Programs of this package have `warm_programs.py`.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

PATIENCE = 120.0  # with a program                                                    [s]


class Forks:
    """A process that has run a few lines; `with` ends it."""

    def __init__(self, folder, lines, environment):
        """Start it; folder: for what programs write; environment: in which it runs the lines."""
        self._files = [Path(folder) / name for name in ('out', 'err')]
        self._process = subprocess.Popen(
            [sys.executable, __file__, lines],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd='/',
            start_new_session=True,
            env={**environment, 'OPENBLAS_NUM_THREADS': '1'},
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.communicate()

    def run(self, words, folder, environment):
        """Run `python WORDS` in a folder, to its end; return what `subprocess.run` would."""
        print(
            json.dumps([[*map(str, words)], str(folder), environment, *map(str, self._files)]),
            file=self._process.stdin,
            flush=True,
        )
        if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise TimeoutError(f'{words} has not ended within {PATIENCE:g} s')
        code = int(self._process.stdout.readline())
        said = [file.read_text(encoding='utf-8') for file in self._files]
        return subprocess.CompletedProcess(words, code, *said)


def _serve(requests, answers):
    """Fork off what is asked for; return, in each of these processes, what it is."""
    for line in requests:
        pid = os.fork()
        if not pid:
            return json.loads(line)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)
    sys.exit()


def _become(words, folder, environment, out, err):
    """Run a program as Python does when it is started."""
    for number, name in enumerate((os.devnull, out, err)):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = bool(environment.get('PYTHONDONTWRITEBYTECODE'))
    code = 1
    try:
        if words[0] == '-c':
            sys.argv, sys.path[0] = ['-c', *words[2:]], ''
            exec(compile(words[1], '<string>', 'exec'), {'__name__': '__main__'})
        else:
            sys.argv, sys.path[0] = words, os.path.dirname(words[0])
            runpy.run_path(words[0], run_name='__main__')
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # to take all modules apart takes longer than most programs


if __name__ == '__main__':
    exec(sys.argv[1], {})
    gc.freeze()  # or whoever collects makes a copy of all there is
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    _answers = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)
    _become(*_serve(os.fdopen(os.dup(0)), _answers))
