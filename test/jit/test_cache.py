"""The cache of machine code: foreign files and damaged files are neither run nor deleted."""

import hashlib
import os
import pickle
import random
import shutil
import signal
import subprocess
import time

import pytest
from small_package import CALL, CALL_AND_COUNT, cache_folders, start, tree_of
from tuned_numba import needs_tuned_numba

from flex_robot_sim.jit import cache

pytestmark = [needs_tuned_numba, pytest.mark.slow]

WHY = f"""
{CALL}
from small.jit.compiled import why_compiling
print(why_compiling())
"""


@pytest.fixture(params=[0o022, 0o002], ids=['umask 022', 'umask 002'])
def clone(request, tmp_path):
    """Clone a repository with folders and a link, as `git clone` makes it under an umask."""
    source, folder = tmp_path / 'source', tmp_path / 'clones'
    (source / 'config').mkdir(parents=True)
    (source / 'config' / 'a-1.py311.1.nbc').write_text('not machine code')
    (source / 'README').write_text('read me')
    (source / 'link').symlink_to('README')
    git = ['git', '-c', 'user.name=a', '-c', 'user.email=a@example.org', '-C', source]
    for words in (['init', '-q'], ['add', '.'], ['commit', '-qm', 'first']):
        subprocess.run([*git, *words], check=True)
    folder.mkdir(mode=0o755)
    name = 'small_machine_code'
    subprocess.run(['git', 'clone', '-q', source, folder / name], check=True, umask=request.param)
    return folder / name


@pytest.mark.long(after=1)
def test_a_repository_in_the_place_of_the_cache_is_not_changed(clone, package, run):
    before = tree_of(clone)
    assert clone / '.git' in clone.iterdir() and 'README' in map(str, before)
    out, err = run(package, WHY, NUMBA_CACHE_DIR=str(clone.parent))
    assert not err and tree_of(clone) == before
    reason = (
        'other users can write to {}'
        if clone.stat().st_mode & 0o020
        else '{} has no CACHEDIR.TAG of this program, so it is left untouched'
    )
    assert out == (
        f'30.0\ncompiling, at every start: {reason.format(clone)}. Name another place '
        'by NUMBA_CACHE_DIR\n'
    )


@pytest.mark.long(after=1)
def test_a_clone_named_after_the_package_is_not_the_cache(clone, package, run):
    clone = clone.rename(clone.with_name('small'))
    before = tree_of(clone)
    out, err = run(package, NUMBA_CACHE_DIR=str(clone.parent))
    assert (out, err) == ('30.0\n0 1\n', '') and tree_of(clone) == before
    out, err = run(package, NUMBA_CACHE_DIR=str(clone.parent))
    assert (out, err) == ('30.0\n1 0\n', '')


@pytest.mark.long
def test_a_link_in_the_place_of_the_cache_is_not_followed(called, run):
    root, real = cache_folders(called)[0].parent, called.parent / 'real'
    root.rename(real)
    root.symlink_to(real)
    before = tree_of(real)
    out, err = run(called, WHY)
    assert not err and tree_of(real) == before and root.is_symlink()
    assert out.endswith(
        f'compiling, at every start: {root} is a link or a file, not a folder of '
        'machine code. Name another place by XDG_CACHE_HOME\n'
    )


@pytest.mark.long(after=1)
@pytest.mark.parametrize('name', ['notes.txt', 'link', 'folder'])
def test_a_foreign_name_in_the_cache_is_left_alone(called, call, name):
    root = cache_folders(called)[0].parent
    {
        'notes.txt': root.joinpath(name).touch,
        'folder': root.joinpath(name).mkdir,
        'link': lambda: root.joinpath(name).symlink_to(called),
    }[name]()
    before = tree_of(root)
    assert call(called) == (30.0, 1, 0) and tree_of(root) == before


@pytest.mark.long(after=1)
@pytest.mark.parametrize('name', ['0123456789abcdef', 'call-0123456789abcdef'])
def test_a_link_with_the_name_of_an_entry_is_not_followed(called, run, name):
    root = cache_folders(called)[0].parent
    root.joinpath(name).symlink_to(called)
    before = tree_of(root)
    out, err = run(called, CALL_AND_COUNT + WHY)
    assert not err and tree_of(root) == before
    assert out.splitlines()[1:] == [
        '0 1',
        '30.0',
        f'compiling, at every start: {root} holds {name}, which this program did not write. '
        'Name another place by XDG_CACHE_HOME',
    ]


def test_a_pipe_in_the_place_of_the_tag_is_not_waited_for(called, run):
    root = cache_folders(called)[0].parent
    root.joinpath('CACHEDIR.TAG').unlink()
    os.mkfifo(root / 'CACHEDIR.TAG')
    out, err = run(called, CALL_AND_COUNT)
    assert (out, err) == ('30.0\n0 1\n', '')


def test_a_link_above_the_cache_is_followed(called, call):
    """Large caches lie on other disks."""
    cache = called.parent / 'cache'
    cache.rename(called.parent / 'disk')
    cache.symlink_to(called.parent / 'disk')
    assert call(called) == (30.0, 1, 0)


@pytest.mark.long
def test_an_empty_folder_becomes_the_cache(package, call):
    root = package.parent / 'cache' / 'small_machine_code'
    root.mkdir(parents=True)
    assert call(package) == (30.0, 0, 1)
    assert call(package) == (30.0, 1, 0)
    assert (
        root.joinpath('CACHEDIR.TAG')
        .read_text()
        .startswith('Signature: 8a477f597d28d172789f06886806bc55\n')
    )
    assert [path.name for path in root.parent.iterdir()] == [root.name]


def test_a_cache_that_others_could_write_to_is_neither_loaded_nor_changed(called, call):
    root, planted = called.parent / 'cache' / 'small_machine_code', called.parent / 'planted'
    assert root.stat().st_mode & 0o077 == 0
    for path in root.rglob('*.nbi'):  # an index is a pickle, and to load it is to run it
        program = b'cos\nsystem\n(S"touch ' + bytes(planted) + b'"\ntR.'
        path.write_bytes(hashlib.blake2b(program, digest_size=16).digest() + program)
    pickle.loads(path.read_bytes()[16:])
    assert planted.exists()  # the trap works
    planted.unlink()
    root.chmod(0o777)
    before = tree_of(root)
    for _ in range(2):
        assert call(called) == (30.0, 0, 1)
    assert not planted.exists() and tree_of(root) == before


def test_the_cache_keeps_the_folders_used_last(tmp_path):
    now = time.time()
    for age in range(cache.MAX_FOLDERS + 4):
        folder = tmp_path / f'{age:016x}'
        (folder / 'flex_robot_sim').mkdir(parents=True)
        (folder / 'flex_robot_sim' / 'screws.set_copy-27.py311.1.nbc').touch()
        os.utime(folder, (now - age, now - age))
    cache.prune(tmp_path)
    kept = [f'{age:016x}' for age in range(cache.MAX_FOLDERS)]
    assert sorted(path.name for path in tmp_path.iterdir()) == kept


def test_removing_code_leaves_other_files_and_link_targets(tmp_path):
    folder, thesis = tmp_path / f'{7:016x}', tmp_path / 'thesis'
    (folder / 'flex_robot_sim').mkdir(parents=True)
    thesis.mkdir()
    for path in (
        thesis / 'a-1.py311.1.nbc',
        folder / 'notes.txt',
        folder / 'flex_robot_sim' / 'a-1.py311.nbi.tmp.0123456789abcdef',
    ):
        path.touch()
    (folder / 'b-1.py311.nbi').symlink_to(thesis / 'a-1.py311.1.nbc')
    (folder / f'core_{1:040x}').symlink_to(thesis)
    cache.remove_code(folder)
    assert {path.name for path in folder.iterdir()} == {
        'notes.txt',
        'b-1.py311.nbi',
        f'core_{1:040x}',
    }
    assert (thesis / 'a-1.py311.1.nbc').exists()


@pytest.mark.long(after=1)
@pytest.mark.parametrize('suffix', ['.nbc', '.nbi'])
def test_a_damaged_file_is_reported_and_compiled_again(called, suffix, run, call):
    folder = cache_folders(called)[0]
    damaged = sorted(path for path in folder.rglob('*') if path.suffix == suffix)
    assert len(damaged) == 2
    for path in damaged:
        path.write_bytes(b'\0')
    out, err = run(called)
    assert out == '30.0\n0 1\n'
    (name,) = [path.name for path in damaged if path.name.startswith('caller')]
    assert err == f'the machine code in {folder} is damaged ({name}): it is compiled again\n'
    assert call(called) == (30.0, 1, 0)


@pytest.mark.long
def test_no_bit_that_flips_in_the_cache_reaches_a_result(called, run, mutants):
    """One bit in any file, the tag included; 250 bits with --long."""
    draw, root = random.Random(1), cache_folders(called)[0].parent
    whole = shutil.copytree(root, called.parent / 'whole')
    for _ in range(max(1, mutants // 4000)):
        shutil.rmtree(root)
        shutil.copytree(whole, root)
        path = draw.choice(
            sorted(path for path in root.rglob('*') if path.is_file() and path.stat().st_size)
        )
        data, bit = bytearray(path.read_bytes()), draw.randrange(8 * path.stat().st_size)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        out, err = run(called)
        assert out in ('30.0\n0 1\n', '30.0\n1 0\n'), (path, bit, err)
        assert err.count('\n') == ('is damaged' in err) == len(err.splitlines()), err


LONG_CALL = """
from small.dynamics.caller import caller
from small.dynamics.slow import slow
print(caller(2.0), flush=True)
slow(10 ** 12)
"""


@pytest.mark.long
@pytest.mark.parametrize('number', [signal.SIGSEGV, signal.SIGKILL])
def test_the_start_after_a_crash_in_loaded_code_compiles_it_again(package, run, number):
    package.joinpath('dynamics', 'slow.py').write_text("""
from small.jit.compiled import compiled


@compiled
def slow(steps):
    x = 0.5
    for i in range(steps):
        x = (1.7 * x + i) % 3.0
    return x
""")
    assert run(package, 'from small.dynamics.slow import slow; slow(3)\n' + CALL)[1] == ''
    root = cache_folders(package)[0].parent
    process = start(package, LONG_CALL)
    try:
        assert process.stdout.readline() == '30.0\n'
        end = time.monotonic() + 60.0
        while not [path for path in root.glob('call-*') if not path.suffix]:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.01)
        # a process that is still in its call has not crashed
        assert run(package) == ('30.0\n1 0\n', '')
        process.send_signal(number)
    finally:
        process.send_signal(number)
        process.communicate()
    out, err = run(package)
    assert (out, err) == (
        '30.0\n0 1\n',
        'a program ended in the first call of machine code from '
        f'{root}: the code is compiled again\n',
    )
    assert run(package) == ('30.0\n1 0\n', '')
    assert not [*root.glob('call-*')]
