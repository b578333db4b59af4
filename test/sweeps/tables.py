"""What tests of sweeps ask of a table and of a folder."""

import numpy as np


def is_same(table, other):
    return [*table] == [*other] and all(
        np.array_equal(table[name], other[name], equal_nan=table[name].dtype.kind == 'f')
        for name in table)


def whole_lines(path):
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b'\n')]
