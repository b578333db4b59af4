"""Plan of a closed loop: its motors move, and its links are at rest at the end."""

import numpy as np
import pytest

import flex_robot_sim as frs

pytestmark = pytest.mark.slow


def test_a_four_bar_is_at_rest_at_the_end_of_its_plan():
    arm = frs.load('four_bar')
    plan = frs.planning.plan_move(arm, [0.0], [0.5], duration=0.12, uncertainty=0.0)
    assert plan.residual_vibration < 0.02
    assert plan.trajectory().names == ('crank_joint',)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=2e-4))

    def tip_range(motion):
        """Range of the tip of the coupler after a motion of the crank [m]."""
        simulation.set_state(frs.equilibrium(arm, motion.sample(0.0)[0]).q)
        begin = simulation.time
        simulation.prescribe(
            'crank_joint', lambda t: tuple(motion.sample(min(t - begin, motion.end))[:2, 0])
        )
        simulation.advance_to(begin + motion.end)
        tips = []
        for _ in range(40):
            simulation.step(5)
            tips.append(simulation.deflection['coupler'][2])
        simulation.prescribe('crank_joint', None)
        return np.ptp(tips)

    ends = (plan.motion.sample(t)[0] for t in (0.0, plan.duration))
    plain = frs.planning.minimum_jerk_motion(*ends, duration=plan.duration)
    assert tip_range(plan.motion) < 0.05 * tip_range(plain)
