"""State and strain feedback of closed loops act through the motors, on independent coordinates."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.feedback.feedback_design import MeasurementTiming, design_feedback

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('name', ['four_bar', 'palletiser', 'delta', 'stewart'])
def test_lqr_brings_a_loop_back_as_fast_as_its_slowest_pole(name):
    arm = frs.load(name)
    pose = pose_of_drives(arm, np.where(arm.actuated, 0.02, 0.0))
    law = frs.feedback.Lqr(arm, pose, bandwidth=3.0)
    assert not law.gain[~arm.actuated].any()
    simulation, away = frs.Simulation(arm), np.where(arm.actuated, 2e-3, 0.0)
    simulation.set_state(frs.equilibrium(arm, pose_of_drives(arm, pose + away)).q)
    sizes = []
    for k in range(900):
        simulation.effort = law.step(frs.feedback.measure(simulation))
        simulation.step()
        if k in (499, 899):
            sizes.append(np.linalg.norm(np.concatenate([simulation.q - law.q, simulation.v])))
    slowest = -law.poles.real.max()
    assert sizes[0] < 3e-2 * np.exp(-0.5 * slowest) * np.linalg.norm(pose + 1.0)
    assert sizes[1] < 1.5 * sizes[0] * np.exp(-0.4 * slowest) + 1e-12


def palletiser_with_gauges():
    text = frs.load('palletiser').description.text
    sensors = ''.join(
        f'<flex_sensor name="{plane}" from="0.1" to="0.2" plane="{plane}"/>'
        for plane in ('xy', 'xz')
    )
    damping = '<damping ratio="0.01"/>'
    return frs.load(text.replace(damping, damping + sensors))


def test_strain_feedback_of_a_controller_stays_where_the_loops_close():
    arm = palletiser_with_gauges()  # opens before the lower limit of its elbow
    servo = frs.control.design_servo(arm, period=1e-3, delay=1e-3)
    timing, limits = MeasurementTiming(2e-3, 2e-3, 5e-3), np.where(arm.actuated, 100.0, 0.0)
    found = design_feedback(
        arm, 'strain', servo.gains, frs.Simulation(arm).position, timing, limits
    )
    assert found.warning == '' and found.needs_strain


def test_strain_feedback_knows_the_modes_of_a_loop():
    arm = palletiser_with_gauges()
    pose = frs.Simulation(arm).position
    servo = frs.control.design_servo(arm, frequency=25.0)
    design = frs.feedback.design_damping(
        arm, pose, gains=servo.gains, period=1e-4, delay=0.0, damping_ratio=0.1
    )
    modes = frs.modes(arm, pose, gains=servo.gains)
    first = design.poles_before[np.abs(design.poles_before.imag) > 1.0][0]
    assert abs(first) / (2 * np.pi) == pytest.approx(modes.frequencies[0], rel=1e-2)
    for channel in design.channels:
        assert not channel.drive_weights[~arm.actuated].any()
    law = frs.feedback.StrainFeedback(arm, design)
    curvature = 1e-3 * np.ones(4)
    added = sum(
        np.abs(law.step(frs.feedback.Measurement(1e-4 * k, curvature=curvature)))
        for k in range(50)
    )
    assert added[arm.actuated].any() and not added[~arm.actuated].any()
