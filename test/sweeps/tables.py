"""What tests of sweeps ask of a table and of a folder, and where programs start warm."""

import os

import numpy as np
from warm_programs import ENVIRONMENT


def away(**more):
    """Return an environment in which nobody looks for modules here: programs start warm there."""
    return {**os.environ, 'PYTHONPATH': ENVIRONMENT.get('PYTHONPATH', ''), **more}


def is_same(table, other):
    return [*table] == [*other] and all(
        np.array_equal(table[name], other[name], equal_nan=table[name].dtype.kind == 'f')
        for name in table
    )


def whole_lines(path):
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b'\n')]
