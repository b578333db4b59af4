"""How far formulations come through an experiment, and how that is told."""

import numpy as np
import pytest

from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.courses import Course, apart_by_kind, courses, largest, merged
from flex_robot_sim.reproduce.motion import Run
from flex_robot_sim.reproduce.report import Reproduction, as_text, summary

TIMES = np.linspace(0.0, 1.0, 11)


def run_of(arm, ends, times=TIMES):
    """Return a Run in which all coordinates go evenly to their `ends`."""
    rates = np.asarray(ends, float)
    return Run(times, np.outer(times, rates), np.tile(rates, (len(times), 1)))


@pytest.fixture(scope='module')
def arm():
    return load('dual_screw_arm')


def ends_of(arm, **by_kind):
    return [by_kind['joint'] if k < 4 else next(
        size for kind, size in by_kind.items() if f'/{kind}' in name)
        for k, name in enumerate(arm.coordinate_names)]


def test_motions_are_compared_kind_by_kind(arm):
    ends = ends_of(arm, joint=2.0, bending=4e-3, torsion=1e-4)
    other = list(ends)
    place = arm.coordinate_names.index('link_3/torsion_1')
    other[place] += 2e-6        # next to nothing beside what joints do, and 2 % of the torsion
    other[0] += 2e-3
    share, where = apart_by_kind(arm, run_of(arm, ends), run_of(arm, other))
    assert where == 'link_3/torsion_1' and share == pytest.approx(0.02)


def test_what_stands_still_is_not_compared(arm):
    ends = ends_of(arm, joint=2.0, bending=0.0, torsion=0.0)
    other = ends_of(arm, joint=2.0, bending=1e-15, torsion=0.0)
    assert apart_by_kind(arm, run_of(arm, ends), run_of(arm, other))[0] == 0.0


def test_a_motor_counts_as_its_joint():
    arm = load('canadarm2')
    ends = np.zeros(arm.size)
    ends[0], other = 2.0, np.zeros(arm.size)
    other[0], other[5] = 2.0, 0.5
    assert apart_by_kind(arm, run_of(arm, ends), run_of(arm, other)) == (
        0.25, 'shoulder_pitch/motor')


def test_a_course_says_how_far_it_went(arm):
    ends = ends_of(arm, joint=2.0, bending=4e-3, torsion=1e-4)

    def motion(name, seconds, progress):
        lost = 0.5 if name == 'dual_screw' else seconds
        return run_of(arm, ends, TIMES[TIMES <= lost + 1e-9])

    found = courses(arm, motion, lambda q, qd, t: 0 * q, 1.0, shorter={'wrench_dae': 0.7},
                    words={'element_sum': 'chosen'})
    assert {name: (one.ran, one.until, one.words) for name, one in found.items()} == {
        'dual_screw': ('until', 0.5, 'its state is lost there'),
        'element_sum': ('through', 1.0, 'chosen'),
        'wrench_dae': ('until', pytest.approx(0.7), 'further would take minutes'),
        'stiffened': ('through', 1.0, '')}


def course(ran='through', until=1.0, off=0.0, words=''):
    return Course(ran, until, words, off, 'q', off)


def test_the_worst_of_several_runs_is_told():
    found = merged([{'stiffened': course(off=1e-3)}, {'stiffened': course('until', 0.5, 1e-5)}])
    assert found['stiffened'] == ('until', 0.5, '', 1e-3, 'q', 1e-3)


def test_what_is_linearised_need_not_agree():
    found = {'dual_screw': course(off=0.3), 'stiffened': course(off=1e-6),
             'wrench_dae': Course('cannot', None, 'why', None, '', None)}
    assert largest(found) == 1e-6
    assert largest(found, linearised=True) == 0.3


def test_the_table_says_what_ran_and_why_not():
    found = Reproduction((), (), (), {
        'dual_screw': course(off=0.3), 'stiffened': course('until', 0.5, 2e-6, 'so far'),
        'wrench_dae': Course('cannot', None, 'link "a" is too strange', None, '', None)},
        2e-6, 'all')
    facts = summary('one', found, (), 3.0, 2.0)
    assert facts['formulations']['stiffened'] == {
        'ran': 'until', 'until_s': 0.5, 'words': 'so far', 'trajectories': 2e-6,
        'farthest_off': 'q', 'accelerations': 2e-6}
    lines = {line.split()[0]: ' '.join(line.split()[1:]) for line in as_text(facts)}
    assert lines['one:'] == '3.0 s, of processor time 2.0 s'
    assert lines['dual_screw'] == ('through 0.3 0.3 its equations are linear in the elastic '
                                   'coordinates')
    assert lines['stiffened'] == 'until 0.5 s 2e-06 2e-06 so far'
    assert lines['wrench_dae'] == 'cannot - - link "a" is too strange'
