"""Programs that start warm cannot tell that they do, and nothing of them is left behind."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
import warm_programs
from waiting import eventually
from warm_programs import ENVIRONMENT, Program

from flex_robot_sim.util.interpreter import run_module

pytestmark = pytest.mark.skipif(sys.platform != 'linux', reason='elsewhere nothing starts warm')
HERE = Path(warm_programs.__file__).parent
PROBE = [sys.executable, '-m', 'probe']
PIPES = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'stderr': subprocess.STDOUT}
SURROUNDINGS = """
    import json, os, signal, sys, threading
    streams = sys.stdin, sys.stdout, sys.stderr
    print(json.dumps({
        'line': open('/proc/self/cmdline').read().rstrip(chr(0)),
        'arguments': sys.argv, 'words': sys.orig_argv, 'path': sys.path, 'folder': os.getcwd(),
        **{f'${name}': value for name, value in os.environ.items()},
        'name': __name__, 'file': __file__,
        'module': sys.modules['__main__'].__spec__.name, 'umask': os.umask(0o22),
        'handlers': [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())
                     if number != signal.SIGINT],
        'Ctrl-C': signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        'mask': len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        'group': os.getpgid(0) == GROUP, 'session': os.getsid(0) == os.getpid(),
        'parent': os.getppid() == PARENT,
        'open': [number for number in range(64) if os.path.exists(f'/proc/self/fd/{number}')],
        'threads': threading.active_count(), 'main': threading.current_thread().name,
        'streams': [[it.encoding, it.errors, it.line_buffering, it.write_through, it.newlines,
                     it.fileno(), it.name, it.mode] for it in streams],
        'same streams': streams == (sys.__stdin__, sys.__stdout__, sys.__stderr__)}))
"""


@pytest.fixture(autouse=True)
def as_at_the_start(monkeypatch):
    """Take away what others have left in the environment; return what keeps programs cold."""
    left = {
        name: os.environ.get(name)
        for name in {*os.environ, *ENVIRONMENT}
        if os.environ.get(name) != ENVIRONMENT.get(name)
    }
    for name in {*os.environ} - {*ENVIRONMENT} - {*warm_programs.READ_LATER}:
        monkeypatch.delenv(name)
    for name in {*ENVIRONMENT} - {*warm_programs.READ_LATER}:
        monkeypatch.setenv(name, ENVIRONMENT[name])
    return {
        name: value
        for name, value in left.items()
        if name not in (*warm_programs.READ_LATER, 'PYTHONPATH')
    }


@pytest.fixture
def probe(tmp_path, monkeypatch):
    """Return a function that writes a program, which may start warm though it is not ours."""
    monkeypatch.setattr(warm_programs, 'MODULES', ('probe',))
    monkeypatch.setattr(warm_programs._WarmProcess, '_brings_modules', lambda *_: False)

    def write(code):
        (tmp_path / 'probe.py').write_text(textwrap.dedent(code), 'utf-8')
        return {'cwd': tmp_path}

    return write


@pytest.fixture
def own_warm_process(monkeypatch):
    """Give a warm process that other tests do not use."""
    monkeypatch.setattr(warm_programs, '_processes', [])
    with closing(warm_programs._warm_process()) as warm:
        yield warm


def is_warm(process):
    """Whether a process was forked: its name is that of the one before it."""
    return Path(f'/proc/{process.pid}/comm').read_bytes().strip() == warm_programs.NAME


def told_by(kind, *words, **options):
    """Return what the probe prints, as JSON; the end of standard input lets it end."""
    with kind([*PROBE, *words], **{**PIPES, **options}) as process:
        told = json.loads(process.stdout.readline())
        assert is_warm(process) == (kind is Program)
        process.stdin.close()
    assert process.returncode == 0
    return told


@pytest.mark.parametrize(
    'variables',
    [{'PYTHONUNBUFFERED': ''}, {'PYTHONUNBUFFERED': '1', 'ROS_DOMAIN_ID': '7'}],
    ids=str,
)
@pytest.mark.parametrize('session', [False, True])
def test_it_finds_around_it_what_it_would_find(probe, variables, session):
    code = SURROUNDINGS.replace('GROUP', str(os.getpgid(0))).replace('PARENT', str(os.getpid()))
    here = probe(f'{code}    sys.stdout.flush(); sys.stdin.read()')
    # without `env`, what libraries have put beside os.environ is handed on, too
    warm, plain = (
        told_by(
            kind,
            'a b',
            '--ä',
            '',
            start_new_session=session,
            env={**os.environ, **variables},
            **here,
        )
        for kind in (Program, subprocess.Popen)
    )
    assert {key: (warm[key], plain[key]) for key in plain if warm[key] != plain[key]} == {}
    assert warm['parent'] and warm['Ctrl-C'] and warm['arguments'][1:] == ['a b', '--ä', '']


@pytest.mark.parametrize(
    'code',
    [
        'pass',
        'sys.exit(3)',
        'sys.exit("a line")',
        '1 / 0',
        'os._exit(4)',
        'os.abort()',
        'os.kill(os.getpid(), signal.SIGKILL)',
        'os.kill(os.getpid(), signal.SIGTERM)',
        'os.kill(os.getpid(), signal.SIGINT); time.sleep(60)',
        'sys.stdout.close()',
        'atexit.register(print, "at exit"); threading.Timer(0.01, print, ["of a thread"]).start()',
        'os.write(1, b"second"); print("first", file=sys.stderr)',
        'file = open(1, "w", closefd=False); file.write("of a file that nobody closed")',
        'class Last:\n    __del__ = lambda _: os.write(1, b"of an object that is left")\n'
        'types = type(sys); sys.modules["late"] = types("late"); sys.modules["late"].it = Last()',
        'def told():\n    try: import json.tool\n    except Exception as error: print(error)\n'
        'atexit.register(told)',
    ],
)
def test_it_ends_as_it_would_end(probe, code):
    here = probe(f'import atexit, os, signal, sys, threading, time\nprint("out")\n{code}')
    warm, plain = (
        kind(PROBE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **here)
        for kind in (Program, subprocess.Popen)
    )
    (out, err), (plain_out, plain_err) = warm.communicate(), plain.communicate()
    assert (warm.returncode, out) == (plain.returncode, plain_out)
    # a traceback begins in other files
    assert err.splitlines()[-1:] == plain_err.splitlines()[-1:]


def test_what_it_shares_is_not_taken_apart_at_its_end_the_one_thing_that_differs(probe):
    here = probe("""
        import os, flex_robot_sim.system.processes as shared
        class Last:
            __del__ = lambda _: os.write(1, b'taken apart')
        shared.it = Last()
        """)
    assert [
        kind(PROBE, stdout=subprocess.PIPE, **here).communicate()[0]
        for kind in (Program, subprocess.Popen)
    ] == [b'', b'taken apart']


def test_ahead_of_it_may_stand_what_ends_it_with_its_parent(probe):
    here = probe('import signal; print("here", flush=True); signal.pause()')
    code = f"""
        import os, sys, subprocess, warm_programs
        warm_programs.MODULES = 'probe',
        warm_programs._WarmProcess._brings_modules = lambda *_: False
        words = [*warm_programs.GUARD, str(os.getpid()), sys.executable, '-m', 'probe']
        with warm_programs.Program(words, stdout=subprocess.PIPE, cwd={str(here['cwd'])!r}) as it:
            it.stdout.readline()
            print(it.pid, open(f'/proc/{{it.pid}}/comm').read().strip(), flush=True)
        """
    with subprocess.Popen(
        [sys.executable, '-c', textwrap.dedent(code)], text=True, stdout=subprocess.PIPE, cwd=HERE
    ) as process:
        pid, name = process.stdout.readline().split()
        assert name.encode() == warm_programs.NAME
        process.kill()
    assert eventually(lambda: not _lives(pid))


def test_one_that_a_program_of_ours_starts_is_as_it_would_be(tmp_path):
    """By -c, as interpreter.py has it: the current folder is of no account."""
    words = [*run_module('flex_robot_sim'), 'check', 'no_such_robot']
    warm, plain = (
        kind(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path)
        for kind in (Program, subprocess.Popen)
    )
    assert is_warm(warm) and not is_warm(plain)
    assert warm.communicate() == plain.communicate() and warm.returncode == plain.returncode == 2


def test_what_a_starter_starts_is_warm_and_its_child(probe, monkeypatch, tmp_path):
    empty = tmp_path / 'empty'
    empty.mkdir()
    monkeypatch.setattr(warm_programs, 'STARTERS', {('probe', 'it'): (('flex_robot_sim',),)})
    here = probe(f"""
        import os, subprocess, sys
        words = [sys.executable, '-m', 'flex_robot_sim', 'no_such_command']
        process = subprocess.Popen(words, cwd={str(empty)!r}, stderr=subprocess.PIPE, text=True)
        name = open(f'/proc/{{process.pid}}/comm').read().strip()
        parent = open(f'/proc/{{process.pid}}/stat').read().rpartition(')')[2].split()[1]
        said = process.communicate()[1]
        print(name, int(parent) == os.getpid(), process.returncode, 'no_such_command' in said)
        """)
    done = warm_programs.run([*PROBE, 'it'], **here)
    assert (done.stdout, done.stderr) == (f'{warm_programs.NAME.decode()} True 2 True\n', '')


def test_a_process_of_tests_is_as_it_would_be():
    """It is told in a line what it is, as pytest-xdist does, and has imported what tests need."""
    line = (
        'import __main__, multiprocessing.spawn, sys, threading\n'
        'print([sys.argv, sys.orig_argv, sys.path, __name__, __main__.__spec__, '
        "getattr(__main__, '__file__', None), sys.stdin.readline(), "
        'threading.active_count(), sys.stdout.write_through, '
        "multiprocessing.spawn.get_preparation_data('it').get('init_main_from_path'), "
        "open('/proc/self/comm').read()], 'numba' in sys.modules)"
    )
    told = []
    for kind in (Program, subprocess.Popen):
        with kind(
            [sys.executable, '-u', *warm_programs.WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            told.append(process.communicate(f'{line!r}\nthe next line\n')[0].rpartition(' '))
        assert process.returncode == 0
    (warm, _, warm_has_numba), (plain, _, plain_has_numba) = told
    assert warm == plain and (warm_has_numba, plain_has_numba) == ('True\n', 'False\n')


def test_it_is_killed_and_waited_for_as_a_child(probe):
    here = probe(
        'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n'
        'print("here", flush=True); signal.pause()'
    )
    with Program(PROBE, **PIPES, **here) as process:
        assert process.stdout.readline() == b'here\n' and process.poll() is None
        process.terminate()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert not Path(f'/proc/{process.pid}').exists()


def test_no_library_that_tests_import_keeps_programs_cold(as_at_the_start):
    """In a whole run all tests, and what they import, have been imported by now."""
    assert as_at_the_start == {}


def test_two_of_them_draw_different_numbers(probe):
    here = probe(
        'import json, random, sys, uuid; import numpy as np\nprint(json.dumps('
        '[random.random(), np.random.rand(), str(uuid.uuid4())]), flush=True)\n'
        'sys.stdin.read()'
    )
    assert not {*told_by(Program, **here)} & {*told_by(Program, **here)}


@pytest.mark.parametrize(
    'options',
    [
        {'env': {**os.environ, 'NUMBA_CACHE_DIR': '/nowhere'}},
        {'preexec_fn': os.getpid},
        {'umask': 0o77},
        {'restore_signals': False},
    ],
    ids=lambda options: [*options][0],
)
def test_who_asks_for_more_than_a_fork_can_give_gets_a_start_of_its_own(probe, options):
    here = probe('import sys; sys.stdin.read()')
    with Program(PROBE, **PIPES, **here, **options) as process:
        assert not is_warm(process)
        process.stdin.close()


def test_a_module_in_the_current_folder_is_found_first_as_by_any_program(tmp_path):
    (tmp_path / 'flex_robot_sim').mkdir()
    (tmp_path / 'flex_robot_sim' / '__main__.py').write_text('print("another")')
    (tmp_path / 'flex_robot_sim' / '__init__.py').touch()
    done = warm_programs.run([sys.executable, '-m', 'flex_robot_sim'], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, 'another\n', '')


def test_it_takes_up_no_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        warm_programs.run([sys.executable, '-m', 'flex_robot_sim'], cwd=tmp_path / 'none')


def test_programs_start_by_themselves_where_the_warm_process_has_died(own_warm_process, capfd):
    words = [sys.executable, '-m', 'flex_robot_sim', '--version']
    assert warm_programs.run(words).returncode == 0
    os.kill(own_warm_process.process.pid, signal.SIGKILL)
    for _ in range(2):
        done = warm_programs.run(words)
        assert (done.returncode, done.stderr) == (0, '') and done.stdout
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith('warm_programs: the warm process is gone (')


def test_the_warm_process_goes_with_who_was_killed():
    code = (
        'import os, sys, warm_programs\n'
        'words = [sys.executable, "-m", "flex_robot_sim", "--version"]\n'
        'done = warm_programs.run(words)\n'
        'warm, = warm_programs._processes\n'
        'print(done.returncode, warm.process.pid, flush=True)\n'
        'sys.stdin.read()'
    )
    with subprocess.Popen(
        [sys.executable, '-c', code],
        stdin=subprocess.PIPE,
        text=True,
        stdout=subprocess.PIPE,
        cwd=HERE,
    ) as process:
        returned, pid = map(int, process.stdout.readline().split())
        assert returned == 0 and Path(f'/proc/{pid}').exists()
        process.kill()
    assert eventually(lambda: not _lives(pid))


def _lives(pid):
    """Whether a process has not ended; nobody may have waited for it yet."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False
