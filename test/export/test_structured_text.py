"""The structured text of a shaper, run by an interpreter of its own, against OnlineShaper."""

import numpy as np
import pytest
from shaper_cases import PERIOD, REPLACEMENTS, golden, random_moves, replaced, shaper_cases
from structured_text_interpreter import FunctionBlock

from flex_robot_sim.export.shaper_tables import shaper_tables
from flex_robot_sim.export.structured_text import structured_text

pytestmark = pytest.mark.slow

CASES = {case.name: case for case in shaper_cases()}
ROUNDING = 1e-12  # as of the other languages
NOT_RESET, NOT_FINITE, JUMP, WRONG_PERIOD, IN_MOTION = 1, 2, 3, 4, 7


def block_of(name):
    case = CASES[name]
    tables = shaper_tables(case.specification, case.joints, PERIOD, name, 'arm')
    return FunctionBlock(structured_text(tables, 'for a test'))


def run(block, samples, reset=True):
    """Return shaped positions (k - 1, joints) and codes of set points (k, joints)."""
    rows, codes = [], []
    block(set_point=samples[0].tolist(), cycle_time=PERIOD, reset=reset)
    for sample in samples[1:]:
        block(set_point=sample.tolist(), reset=False)
        rows.append(list(block.values['shaped']))
        codes.append(block.values['code'])
    return np.array(rows), np.array(codes)


@pytest.mark.parametrize('name', CASES)
def test_text_equals_the_compiled_law_of_the_library(name, request):
    count = 4000 if len(CASES[name].joints) < 6 else 1500
    if request.config.getoption('--long'):
        count = 100_000
    limits = CASES[name].specification.velocity_limits
    speed = 1.0 if limits is None else 1.7 * min(limits)
    samples = random_moves(count, len(CASES[name].joints), 1, speed)
    shaped, codes = run(block_of(name), samples)
    assert not codes.any()
    expected = golden(CASES[name], samples)
    assert np.abs(shaped - expected).max() <= ROUNDING * np.abs(expected).max()


def step_both(old, new, standby, **inputs):
    """Call two blocks in a cycle, as on the page: the new one follows or replaces the old one."""
    old(cycle_time=PERIOD, **inputs)
    new(
        cycle_time=PERIOD,
        standby=standby,
        set_point=list(old.values['accepted']),
        replaced=list(old.values['shaped']),
        replaced_is_reset=old.values['is_reset'],
        replaced_duration=old.values['duration'],
    )
    return list(new.values['shaped'])


@pytest.mark.parametrize('old, new', REPLACEMENTS)
def test_a_replacement_in_motion_is_that_of_the_library(old, new):
    samples = random_moves(2400, 2, 3, 1.4)
    samples[2000:] = samples[1999]
    row, blocks, out = 900, (block_of(old), block_of(new)), []
    step_both(*blocks, standby=True, set_point=samples[0].tolist(), reset=True)
    for k, sample in enumerate(samples[1:], 1):
        out.append(step_both(*blocks, standby=k < row, set_point=sample.tolist(), reset=False))
        assert [block.values['code'] for block in blocks] == [0, 0]
        if k < row:
            assert out[-1] == blocks[0].values['shaped']
    expected = replaced(samples, row, CASES[old], CASES[new])
    assert np.abs(out - expected).max() <= ROUNDING * np.abs(expected).max()
    assert blocks[1].values['age'] == 1.0
    assert np.array_equal(out[-1], samples[-1])


def test_a_replacement_follows_the_checks_of_the_old_block():
    blocks = old, new = block_of('two_modes'), block_of('by_pose')
    samples = random_moves(700, 2, 2)[200:]
    # before a reset of the old block there is nothing to replace
    shaped = step_both(*blocks, standby=True, set_point=[0.5, 0.5], reset=False)
    assert (new.values['code'], new.values['is_reset'], shaped) == (NOT_RESET, 0, [0.0, 0.0])
    out = [step_both(*blocks, standby=True, set_point=samples[0].tolist(), reset=True)]
    for k, sample in enumerate(samples[1:], 1):
        # bad set points begin before the replacement and end in it
        bad = [np.nan, 0.0] if 195 <= k < 205 else sample.tolist()
        out.append(step_both(*blocks, standby=k < 200, set_point=bad, reset=False))
        assert new.values['code'] == 0
        assert old.values['code'] == (NOT_FINITE if 195 <= k < 205 else 0)
    held = samples.copy()
    held[195:205] = held[194]
    expected = replaced(held, 200, CASES['two_modes'], CASES['by_pose'])
    assert np.abs(np.array(out[1:]) - expected).max() <= ROUNDING


def test_bad_input_holds_the_last_good_set_point():
    block = block_of('two_modes')
    samples = random_moves(400, 2, 2)
    block(set_point=[0.0, 0.0], cycle_time=PERIOD, reset=False)
    assert (block.values['code'], block.values['shaped']) == (NOT_RESET, [0.0, 0.0])
    block(set_point=[np.nan, 0.0], cycle_time=PERIOD, reset=True)
    assert (block.values['code'], block.values['shaped']) == (NOT_FINITE, [0.0, 0.0])
    bad = samples.copy()
    bad[100, 0], bad[150, 1] = np.nan, samples[150, 1] + 0.2
    held = samples.copy()
    held[100], held[150] = held[99], held[149]
    shaped, codes = run(block, bad)
    assert {row: codes[row] for row in np.flatnonzero(codes)} == {99: NOT_FINITE, 149: JUMP}
    assert np.abs(shaped - golden(CASES['two_modes'], held)).max() <= ROUNDING
    before = list(block.values['shaped'])
    block(set_point=samples[-1].tolist(), cycle_time=2 * PERIOD)
    assert (block.values['code'], block.values['shaped']) == (WRONG_PERIOD, before)


def test_a_reset_in_motion_is_refused():
    block = block_of('limited')
    still = {'cycle_time': PERIOD, 'reset': True}
    for velocity in [0.0, 1.01e-3], [-0.1, 0.0], [0.0, np.nan]:
        block(set_point=[0.1, 0.1], velocity=velocity, **still)
        assert (block.values['code'], block.values['shaped']) == (IN_MOTION, [0.0, 0.0])
    # the first joint is good, the second one is bad in both
    block(set_point=[0.1, np.nan], velocity=[0.0, 1.0], **still)
    assert block.values['code'] == NOT_FINITE
    block(set_point=[0.2, 0.2], velocity=[-1e-3, 1e-3], **still)
    assert (block.values['code'], block.values['shaped']) == (0, [0.2, 0.2])
    # the last good set point is held
    block(set_point=[0.3, 0.3], velocity=[0.0, 1.01e-3], **still)
    assert (block.values['code'], block.values['shaped']) == (IN_MOTION, [0.2, 0.2])
    # the velocity has no effect without a reset
    block(set_point=[0.2, 0.2], reset=False)
    assert (block.values['code'], block.values['shaped']) == (0, [0.2, 0.2])


def test_a_second_reset_begins_again():
    block = block_of('by_pose')
    samples = random_moves(1200, 2, 3)
    first, _ = run(block, samples)
    again, _ = run(block, samples)
    assert np.array_equal(first, again)
