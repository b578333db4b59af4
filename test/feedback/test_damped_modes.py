"""Which modes strain feedback damps, on an arm whose link is 1.6 times stiffer sideways."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.feedback.damping_search import KINDS
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import ControlLoop

LOOP = LoopTiming(1e-3, 1e-3)
SERVO = np.array([150.0, 150.0]), np.array([0.3, 0.3])
PUSHED = 0.02  # duration of a push [s]


def pan_tilt(planes=('xy', 'xz'), tilts=True):
    """An arm with a pan and a tilt joint, and gauges in some planes of its link."""
    builder = frs.ArmBuilder('pan_tilt')
    section = frs.SectionStiffness(EIy=6.0, EIz=6.0 * 1.6**2, GJ=1e3)
    builder.add_rigid('head', mass=0.5, inertia=(2e-2, 2e-2, 2e-2))
    builder.add_rigid('neck', mass=0.5, inertia=(2e-2, 2e-2, 2e-2))
    builder.add_beam(
        'boom', length=0.6, mass=0.1, section=section, bending_y=2, bending_z=2, torsion=0,
        damping_ratio=0.005,
    )  # fmt: skip
    builder.add_rigid('tool', mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    builder.add_joint('pan', parent='base', child='head', axis='z')
    builder.add_joint('tilt', parent='head', child='neck', axis='y' if tilts else 'z')
    builder.attach('boom', parent='neck')
    builder.attach('tool', parent='boom', xyz=(0.6, 0.0, 0.0))
    for plane in planes:
        for name, start, end in (('root', 0.02, 0.1), ('middle', 0.25, 0.35)):
            builder.add_flex_sensor('boom', f'{name}_{plane}', start=start, end=end, plane=plane)
    return builder.build(tool='tool', gravity=(0.0, 0.0, 0.0))


def left_of_a_push(arm, design, force, periods=2.0):
    """Share of the tip amplitude that is left `periods` of the slowest mode after a push."""
    simulation, law, rows = frs.Simulation(arm), StrainFeedback(arm, design), []
    rest = simulation.pose('tool')[:3, 3]
    law.start()

    def control(seen):
        effort = -SERVO[0] * seen.position - SERVO[1] * seen.velocity
        return effort + law.update(seen.position, seen.velocity, seen.curvature)

    def record(simulation):
        rows.append((simulation.time, np.linalg.norm(simulation.pose('tool')[:3, 3] - rest)))

    loop = ControlLoop(simulation, sensor_feedback(arm, control), LOOP, record, 4e-3)
    simulation.push('tool', force=force)
    loop.advance(round(PUSHED / simulation.settings.time_step))
    simulation.push('tool')
    time = PUSHED + periods / frs.frequencies(arm, gains=SERVO)[0]
    loop.advance(round((time + 0.25) / simulation.settings.time_step))
    times, away = np.array(rows).T
    return away[times > time].max() / away.max()


@pytest.fixture(scope='module')
def arm():
    return pan_tilt()


@pytest.mark.slow
@pytest.mark.parametrize('kind', KINDS)
def test_both_planes_of_a_link_are_damped(arm, kind):
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, kind=kind, **LOOP._asdict())
    assert len(design.channels) == 2 and design.warning == '' and design.left_modes == ()
    for force in ((0.0, 0.5, 0.0), (0.0, 0.0, 0.5)):
        assert left_of_a_push(arm, design, force) < 0.03


@pytest.mark.slow
def test_a_mode_that_the_user_leaves_out_is_reported(arm):
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, modes=1, **LOOP._asdict())
    (left,) = design.left_modes
    second = frs.frequencies(arm, gains=SERVO)[1]
    assert left.frequency == pytest.approx(second, rel=0.01) and left.damping_ratio < 0.03
    assert f'the mode of {left.frequency:.3g} Hz keeps' in design.warning
    assert 'modes = 1: take 2, or leave modes out' in design.warning
    assert left_of_a_push(arm, design, (0.0, 0.5, 0.0)) > 0.5


@pytest.mark.slow
def test_a_plane_without_gauges_is_reported():
    arm = pan_tilt(planes=('xz',))
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, **LOOP._asdict())
    assert len(design.channels) == 1
    assert 'no flex sensor measures it' in design.warning


@pytest.mark.slow
def test_a_plane_that_no_drive_moves_is_reported():
    arm = pan_tilt(tilts=False)
    design = design_damping(arm, [0.0, 0.0], gains=SERVO, **LOOP._asdict())
    assert len(design.channels) == 1
    assert 'no drive moves it in this pose' in design.warning
