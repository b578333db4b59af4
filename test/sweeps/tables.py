"""Checks of tables and folders for tests of sweeps, and the environment of a cluster."""

import os
from pathlib import Path

import numpy as np

HERE = str(Path(__file__).parent)


def away(**more):
    """Return an environment in which programs do not look for modules in this folder."""
    paths = os.environ.get('PYTHONPATH', '').split(os.pathsep)
    return {
        **os.environ,
        'PYTHONPATH': os.pathsep.join(path for path in paths if path != HERE),
        **more,
    }


def is_same(table, other):
    return [*table] == [*other] and all(
        np.array_equal(table[name], other[name], equal_nan=table[name].dtype.kind == 'f')
        for name in table
    )


def whole_lines(path):
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b'\n')]
