"""Small packages with separate machine code."""

import os
import shutil

import pytest
from forks import Forks
from small_package import CALL_AND_COUNT, environment_of, start, write_package


@pytest.fixture
def package(tmp_path):
    """Write a package of two files, one calling the other, and a separate cache."""
    return write_package(tmp_path / 'small')


@pytest.fixture(scope='module')
def first_call(tmp_path_factory, call):
    """Call a package for the first time; return it, and the result of the call."""
    package = write_package(tmp_path_factory.mktemp('first') / 'small')
    return package, call(package)


@pytest.fixture
def called(first_call, tmp_path):
    """Copy a package that has been called, with its machine code."""
    return shutil.copytree(first_call[0].parent, tmp_path / 'called') / 'small'


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """Return a function that runs `start` to the end and returns the output."""
    folder = tmp_path_factory.mktemp('said')
    lines = 'import numba; numba.njit(lambda x: x + 1.0)(2.0)'  # which gets Numba ready
    with Forks(folder, lines, {'PATH': os.environ['PATH'], 'HOME': '/nowhere'}) as forks:

        def run(package, program=CALL_AND_COUNT, **environment):
            if any(name.startswith('NUMBA_') for name in environment):  # read by its import
                return start(package, program, **environment).communicate(timeout=120)
            done = forks.run(
                ['-c', program], package.parent, environment_of(package, **environment)
            )
            return done.stdout, done.stderr

        yield run


@pytest.fixture(scope='module')
def call(run):
    """Return a function that calls the package; it gives the result, cache hits and misses."""

    def call(package, **environment):
        out, err = run(package, **environment)
        assert not err, err
        value, hits, misses = out.split()
        return float(value), int(hits), int(misses)

    return call
