"""Small packages with separate machine code."""

import shutil

import pytest
from small_package import start, write_package


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
def run():
    """Return a function that runs `start` to the end and returns the output."""
    return lambda *words, **environment: start(*words, **environment).communicate(timeout=120)


@pytest.fixture(scope='module')
def call(run):
    """Return a function that calls the package; it gives the result, cache hits and misses."""

    def call(package, **environment):
        out, err = run(package, **environment)
        assert not err, err
        value, hits, misses = out.split()
        return float(value), int(hits), int(misses)

    return call
