"""Runs of all formulations through an experiment, and their report."""

import numpy as np
import pytest

from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.courses import (
    FormulationResult,
    error_by_kind,
    max_error,
    run_formulations,
    worst_results,
)
from flex_robot_sim.reproduce.reproduction import Reproduction, as_text, summary
from flex_robot_sim.reproduce.simulated_motion import Run

pytestmark = pytest.mark.slow

TIMES = np.linspace(0.0, 1.0, 11)


def run_of(arm, ends, times=TIMES):
    """Return a Run in which all coordinates move uniformly to their `ends`."""
    rates = np.asarray(ends, float)
    return Run(times, np.outer(times, rates), np.tile(rates, (len(times), 1)))


@pytest.fixture(scope='module')
def arm():
    return load('dual_screw_arm')


def ends_of(arm, **by_kind):
    return [
        by_kind['joint']
        if k < 4
        else next(size for kind, size in by_kind.items() if f'/{kind}' in name)
        for k, name in enumerate(arm.coordinate_names)
    ]


def test_motions_are_compared_kind_by_kind(arm):
    ends = ends_of(arm, joint=2.0, bending=4e-3, torsion=1e-4)
    other = list(ends)
    place = arm.coordinate_names.index('link_3/torsion_1')
    other[place] += 2e-6  # negligible compared with the joints, and 2 % of the torsion
    other[0] += 2e-3
    error, coordinate = error_by_kind(arm, run_of(arm, ends), run_of(arm, other))
    assert coordinate == 'link_3/torsion_1' and error == pytest.approx(0.02)


def test_coordinates_at_rest_are_not_compared(arm):
    ends = ends_of(arm, joint=2.0, bending=0.0, torsion=0.0)
    other = ends_of(arm, joint=2.0, bending=1e-15, torsion=0.0)
    assert error_by_kind(arm, run_of(arm, ends), run_of(arm, other))[0] == 0.0


def test_a_motor_counts_as_its_joint():
    arm = load('canadarm2')
    ends = np.zeros(arm.size)
    ends[0], other = 2.0, np.zeros(arm.size)
    other[0], other[5] = 2.0, 0.5
    assert error_by_kind(arm, run_of(arm, ends), run_of(arm, other)) == (
        0.25,
        'shoulder_pitch/motor',
    )


def test_a_result_has_status_end_time_and_remark(arm):
    ends = ends_of(arm, joint=2.0, bending=4e-3, torsion=1e-4)

    def motion(name, seconds, progress):
        lost = {'dual_screw': 0.5, 'wrench_dae': 0.7}.get(name, seconds)
        return run_of(arm, ends, TIMES[TIMES <= lost + 1e-9])

    results = run_formulations(
        arm, motion, lambda q, qd, t: 0 * q, 1.0, remarks={'element_sum': 'chosen'}
    )
    assert {
        name: (result.status, result.end_time, result.remark) for name, result in results.items()
    } == {
        'dual_screw': ('until', 0.5, 'its state is lost there'),
        'element_sum': ('through', 1.0, 'chosen'),
        'wrench_dae': ('until', pytest.approx(0.7), 'its state is lost there'),
        'stiffened': ('through', 1.0, ''),
    }


def result_of(status='through', end_time=1.0, error=0.0, remark=''):
    return FormulationResult(status, end_time, remark, error, 'q', error)


def test_worst_results_has_the_worst_of_several_runs():
    results = worst_results(
        [{'stiffened': result_of(error=1e-3)}, {'stiffened': result_of('until', 0.5, 1e-5)}]
    )
    assert results['stiffened'] == ('until', 0.5, '', 1e-3, 'q', 1e-3)


def test_max_error_excludes_linearised_formulations():
    results = {
        'dual_screw': result_of(error=0.3),
        'stiffened': result_of(error=1e-6),
        'wrench_dae': FormulationResult('cannot', None, 'why', None, '', None),
    }
    assert max_error(results) == 1e-6
    assert max_error(results, linearised=True) == 0.3


def test_the_table_has_status_and_reason_of_each_formulation():
    reproduction = Reproduction(
        (),
        (),
        (),
        {
            'dual_screw': result_of(error=0.3),
            'stiffened': result_of('until', 0.5, 2e-6, 'so far'),
            'wrench_dae': FormulationResult(
                'cannot', None, 'link "a" is too strange', None, '', None
            ),
        },
        2e-6,
        'all',
    )
    facts = summary('one', reproduction, (), 3.0, 2.0)
    assert facts['formulations']['stiffened'] == {
        'ran': 'until',
        'until_s': 0.5,
        'words': 'so far',
        'trajectories': 2e-6,
        'farthest_off': 'q',
        'accelerations': 2e-6,
    }
    lines = {line.split()[0]: ' '.join(line.split()[1:]) for line in as_text(facts)}
    assert lines['one:'] == '3.0 s, of processor time 2.0 s'
    assert lines['dual_screw'] == (
        'through 0.3 0.3 its equations are linear in the elastic coordinates'
    )
    assert lines['stiffened'] == 'until 0.5 s 2e-06 2e-06 so far'
    assert lines['wrench_dae'] == 'cannot - - link "a" is too strange'
