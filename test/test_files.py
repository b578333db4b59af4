"""What is asked before a long work begins, against an attempt to write."""

import os

import pytest
from unprivileged import unprivileged

from flex_robot_sim.files import why_unwritable

PLACES = ('new.csv', 'old.csv', 'folder', 'none/x.csv', 'old.csv/x.csv', 'closed/x.csv',
          'closed/old.csv', 'locked.csv', 'to_nowhere', 'open/x.csv', '')


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
