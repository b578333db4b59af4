"""The description of the law, run as Python, against OnlineShaper."""

import ast
import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from shaper_cases import PERIOD, golden, random_moves, shaper_cases

from flex_robot_sim.export import shaper_law
from flex_robot_sim.export.shaper_tables import MAX_SET_POINT, REST_VELOCITY, shaper_tables

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in shaper_cases()}
FIELDS = *shaper_law.VARIABLES, *shaper_law.STAGE_VARIABLES, *shaper_law.LIMITER_VARIABLES


def variables_of(name):
    """Return an object with all that the law reads and writes."""
    case = CASES[name]
    tables = shaper_tables(case.specification, case.joints, PERIOD, name)
    v = SimpleNamespace(**{size.upper(): count for size, count in tables.sizes.items()})
    v.CORNERS, v.MAX_SET_POINT = 2 ** tables.sizes['axes'], MAX_SET_POINT
    v.REST_VELOCITY = REST_VELOCITY
    vars(v).update({code: number for code, number, _ in shaper_law.CODES})
    vars(v).update(tables.values)
    for field in FIELDS:
        size = [tables.sizes[word] for word in field.size]
        zero = np.zeros(size, int if field.kind == 'int' else float)
        setattr(v, field.name, zero if size else zero.item())
    return v


@pytest.mark.parametrize('name', CASES)
def test_the_law_equals_the_compiled_one_bit_for_bit(name):
    v = variables_of(name)
    n = v.JOINTS
    samples = random_moves(300 if n == 6 else 800, n, 1, 1.5)
    samples = samples[100:]  # in motion
    out: list[np.ndarray] = []
    for sample in samples:
        v.set_point = sample
        (shaper_law.check_set_point if out else shaper_law.restart)(v)
        shaper_law.advance(v)
        assert v.code == v.OK
        out.append((v.limited if v.LIMITER_SAMPLES else v.mixed).copy())
    assert np.array_equal(out[1:], golden(CASES[name], samples))


def test_all_local_variables_are_declared_once_and_used():
    tree = ast.parse(inspect.getsource(shaper_law))
    used = {
        node.id
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert used == shaper_law.LOCALS.keys()
    assert not used & {field.name for field in FIELDS}
