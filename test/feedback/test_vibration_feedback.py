"""
Feedback in the joint controller: residual vibration of a pushed nonlinear arm, and continuity.

States arrive every 2 ms, efforts act one state later, and strain arrives every 10 ms after its
state, as over topics. The tests compare the pushed tip with and without feedback.
"""

from dataclasses import replace

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.feedback.feedback_design import design_feedback, refuse_feedback, timing_of
from flex_robot_sim.feedback.feedback_settings import FeedbackSettings
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.simulation.loop_timing import one_period_late
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

STATE, STRAIN, STEP = 2e-3, 1e-2, 1e-3
SETTINGS = ControllerSettings(damping_ratio=0.2)
KINDS = ('strain', 'ppf', 'lqg')
PUSHED = 0.1


class Held:
    """A simulated arm under a joint controller with delayed states and infrequent strain."""

    def __init__(self, name, settings=SETTINGS, place=None):
        self.arm = frs.load(name)
        self.controller = JointController(self.arm, settings)
        self.simulation = frs.Simulation(self.arm)
        if place is not None:
            self.simulation.set_state(q=place)
        self._sensors, self._count = flex_sensors(self.arm).matrix, 0
        self._effort = np.zeros(len(self.arm.joint_names))
        self.hears = True
        self.rows = []

    def feedback(self, kind):
        """Return the Feedback of a kind for its gains."""
        servo, pose = self.controller.servo, self.simulation.position
        timing = timing_of(FeedbackSettings(strain_period=STRAIN), one_period_late(STATE))
        return design_feedback(
            self.arm, kind, (servo.stiffness, servo.damping), pose, timing, self.controller.limits
        )

    def run(self, seconds):
        """Run on; return the tip of the last flexible link and the efforts over time."""
        rows, every = [], round(STATE / STEP)
        tip = [*self.arm.tips][-1]
        for _ in range(round(seconds / STATE)):
            simulation = self.simulation
            state = (
                simulation.position,
                simulation.velocity,
                simulation.motor_position,
                simulation.motor_velocity,
            )
            bent = self._sensors @ simulation.q
            simulation.effort = self._effort  # the effort of the previous state
            self._effort = self.controller.update(simulation.time, *state).copy()
            if self.hears and self._count % round(STRAIN / STATE) == 0:
                self.controller.feedback.receive_strain(bent)
            rows.append([simulation.time, *self._effort, *simulation.deflection[tip][:3]])
            simulation.step(every)
            self._count += 1
        return np.array(rows)

    def push(self, seconds, force):
        """Push the tool for a moment, and record the motion."""
        self.simulation.push('tool', force=force)
        self.run(PUSHED)
        self.simulation.push('tool')
        return self.run(seconds)


def swing(rows, begin, end):
    """Range of the tip between two times after the first row [m]."""
    time = rows[:, 0] - rows[0, 0]
    return np.ptp(rows[(time > begin) & (time < end), -3:], axis=0).max()


@pytest.fixture(scope='module')
def designs():
    held = Held('single_link')
    return {kind: held.feedback(kind) for kind in KINDS}


@pytest.fixture
def law(designs):
    """Return a new law of a kind."""

    def fresh(kind):
        made = designs[kind]
        return made._replace(law=type(made.law)(frs.load('single_link'), made.law.design))

    return fresh


@pytest.mark.long(after=1)
@pytest.mark.parametrize('kind', KINDS)
def test_feedback_reduces_the_vibration_after_a_push(law, kind):
    plain, damped = Held('single_link'), Held('single_link')
    damped.controller.feedback.use(law(kind))
    for held in (plain, damped):
        held.run(3.0)
    force = (0.0, 0.2, 0.0)
    without, with_it = (held.push(6.0, force) for held in (plain, damped))
    assert not damped.controller.saturated.any()
    assert damped.controller.reports == []
    # the slowest mode of this servo has about 0.6 Hz and a damping ratio of 0.1 to 0.2
    assert swing(with_it, 3.0, 6.0) < 0.3 * swing(without, 3.0, 6.0)


@pytest.mark.long
def test_feedback_reduces_the_vibration_between_its_design_poses():
    place = (0.3, 0.7, -0.9)
    plain, damped = (Held('two_link', place=place) for _ in range(2))
    law = damped.feedback('ppf')
    # shoulder and elbow are far from all design poses
    axes = law.law.design.axes
    assert [axis.size for axis in axes] == [1, 3, 3]
    assert min(np.abs(axis - at).min() for axis, at in zip(axes[1:], place[1:])) > 0.5
    damped.controller.feedback.use(law)
    for held in (plain, damped):
        held.run(4.0)
    for force in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        without, with_it = (held.push(3.0, force) for held in (plain, damped))
        # these gains already damp most of it; the remainder is a motion of the whole arm
        assert swing(with_it, 2.0, 3.0) < 0.85 * swing(without, 2.0, 3.0)
    assert not damped.controller.saturated.any() and damped.controller.reports == []


@pytest.mark.parametrize('kind', KINDS)
def test_switching_in_motion_makes_no_jump_of_effort_or_set_point(law, kind):
    held = Held('single_link')
    held.run(0.5)
    held.controller.set_target([0.0])
    rows = [held.push(0.4, (0.0, 0.2, 0.0))]
    usual = np.abs(np.diff(rows[0][:, 1])).max()
    for name in (kind, None, kind, 'ppf', None):
        target = held.controller.target
        held.controller.feedback.use(name and law(name))
        rows.append(held.run(0.25))
        assert (held.controller.target == target).all()
    steps = np.abs(np.diff(np.concatenate(rows)[:, 1]))
    # the effort of the servo also changes in steps, the largest while the arm moves fastest
    assert steps.max() < 3 * usual


def test_without_strain_the_servo_holds_on_and_a_line_says_so(law):
    held = Held('single_link')
    held.hears = False
    held.controller.feedback.use(law('strain'))
    rows = held.run(1.0)
    assert held.controller.reports == [
        'no strain arrives: the feedback waits, and the servo holds the arm'
    ]
    plain = Held('single_link').run(1.0)
    np.testing.assert_array_equal(rows, plain)
    held.hears = True
    held.push(0.3, (0.0, 0.2, 0.0))
    assert held.controller.reports[1:] == ['strain arrives again: the feedback goes on']


def test_strain_feedback_without_flex_sensors_is_refused_and_lqg_is_not():
    ella = frs.load('ella')
    with pytest.raises(SettingError, match='strain feedback needs flex sensors, and ella has'):
        refuse_feedback(ella, FeedbackSettings(vibration_feedback='strain'))
    refuse_feedback(ella, FeedbackSettings(vibration_feedback='lqg'))


@pytest.mark.long
def test_a_reported_payload_is_compensated_without_a_jump():
    mass, seen = 0.3, {}
    for reported in (False, True):
        held = Held('two_link', replace(SETTINGS, damping_ratio=0.7), (0.0, 0.4, 0.4))
        held.simulation.set_payload('tool', mass)
        held.run(8.0)
        before = held.run(STATE)[-1, 1:4]
        if reported:
            held.controller.use_model(held.controller.build_model(('tool', mass)))
            assert np.abs(held.run(STATE)[-1, 1:4] - before).max() < 0.05 * np.abs(before).max()
        held.run(8.0)
        seen[reported] = np.abs(held.simulation.position - held.controller.target)
    # the remainder is the sag of the links, which the gravity of a straight arm excludes
    assert seen[True].max() < 0.2 * seen[False].max()
    with pytest.raises(SettingError, match='no link "hand"'):
        held.controller.build_model(('hand', 1.0))
    assert (effort_limits(held.arm) >= held.controller.limits).all()
