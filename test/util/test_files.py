"""Files are written completely or not at all; `why_unwritable` against an attempt to write."""

import contextlib
import os
import subprocess
import sys

import pytest
from unprivileged import unprivileged

from flex_robot_sim.util.files import open_atomic, why_unwritable

pytestmark = pytest.mark.slow

PLACES = (
    'new.csv',
    'old.csv',
    'folder',
    'none/x.csv',
    'old.csv/x.csv',
    'closed/x.csv',
    'closed/old.csv',
    'locked.csv',
    'to_nowhere',
    'open/x.csv',
    '',
)


@pytest.mark.parametrize('name', PLACES)
def test_what_is_said_of_a_place_is_what_writing_there_says(name, monkeypatch):
    with unprivileged() as folder:
        monkeypatch.chdir(folder)
        for made in ('folder', 'closed', 'open'):
            (folder / made).mkdir()
        for made in ('old.csv', 'closed/old.csv', 'locked.csv'):
            (folder / made).touch()
        (folder / 'closed').chmod(0o500)
        (folder / 'locked.csv').chmod(0o400)
        (folder / 'to_nowhere').symlink_to('folder/new.csv')
        before = sorted(folder.iterdir())
        said = why_unwritable(name)
        assert sorted(folder.iterdir()) == before
        try:
            with open(name, 'a', encoding='utf-8'):
                happened = ''
        except OSError as error:
            happened = error.strerror
        assert said == happened, name
        monkeypatch.chdir('/')


def test_a_device_may_be_written():
    assert why_unwritable(os.devnull) == ''


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / 'result.csv'
    with open_atomic(path) as file:
        file.write('whole')
        assert not path.exists()
    assert path.read_text() == 'whole' and [*tmp_path.iterdir()] == [path]
    plain = tmp_path / 'plain'
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize('error', [OSError, KeyboardInterrupt])
def test_after_a_failure_the_older_file_is_as_it_was(tmp_path, error):
    path = tmp_path / 'result.csv'
    path.write_text('older')
    with pytest.raises(error), open_atomic(path) as file:
        file.write('half')
        raise error
    assert path.read_text() == 'older' and [*tmp_path.iterdir()] == [path]


def test_an_older_file_keeps_its_link_and_its_mode(tmp_path):
    path, link = tmp_path / 'result.csv', tmp_path / 'link.csv'
    path.write_text('older')
    path.chmod(0o640)
    link.symlink_to('result.csv')
    with open_atomic(link, 'wb') as file:
        file.write(b'newer')
    assert link.is_symlink() and path.read_text() == 'newer'
    assert path.stat().st_mode & 0o777 == 0o640 and len([*tmp_path.iterdir()]) == 2


def test_a_name_that_is_taken_is_never_replaced_by_a_new_file(tmp_path):
    path = tmp_path / 'result.csv'
    path.symlink_to('nowhere')
    with pytest.raises(FileExistsError), open_atomic(path, is_new=True):
        pass
    path.unlink()
    with pytest.raises(FileExistsError), open_atomic(path, is_new=True):
        path.write_text('by another program')
    assert path.read_text() == 'by another program' and [*tmp_path.iterdir()] == [path]


def test_a_file_without_the_right_to_write_stays(monkeypatch):
    with unprivileged() as folder:
        path = folder / 'locked.csv'
        path.write_text('older')
        path.chmod(0o400)
        with pytest.raises(PermissionError), open_atomic(path):
            pass
        (folder / 'closed').mkdir()
        inside = folder / 'closed' / 'old.csv'
        inside.write_text('older')
        (folder / 'closed').chmod(0o500)
        with contextlib.suppress(OSError), open_atomic(inside) as file:
            file.write('newer')  # the folder permits no new file, but this one is writable
        assert path.read_text() == 'older' and inside.read_text() == 'newer'
        (folder / 'closed').chmod(0o700)


def test_what_goes_to_a_stream_keeps_its_file(tmp_path):
    program = (
        'from flex_robot_sim.util.files import open_atomic\n'
        "print('before', flush=True)\n"
        "with open_atomic('/dev/stdout') as file: file.write('between\\n')\n"
        "print('after')"
    )
    with open(tmp_path / 'out', 'a') as out:
        subprocess.run([sys.executable, '-c', program], stdout=out, check=True)
    assert (tmp_path / 'out').read_text().endswith('after\n')
    assert len([*tmp_path.iterdir()]) == 1
