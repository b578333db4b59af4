"""Joint sliders of the viewer, on a page without a browser."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.viewer.joint_sliders import JointSliders


class Control:
    """A slider that stores what it shows."""

    def show(self, value):
        """Store a value."""
        self.value = value


class Page:
    """A page that stores its sliders by label, and what a change of each calls."""

    def __init__(self):
        self.sliders, self.changes = {}, {}

    def slider(self, label, low, high, step, value, react, hint):
        """Add a slider."""
        self.changes[label], control = react, Control()
        control.show(value)
        return self.sliders.setdefault(label, control)


MOTORS = 'waist_joint', 'shoulder', 'elbow', 'tool_rotation'


def test_motors_have_sliders_and_passive_joints_follow():
    page, changes = Page(), []
    sliders = JointSliders(page, frs.load('palletiser'), lambda *change: changes.append(change))
    assert [*page.sliders] == [f'{name} [rad]' for name in MOTORS]
    page.changes['elbow [rad]'](0.25)
    ((positions, row),) = changes
    assert positions[row] == 0.25 and frs.load('palletiser').joint_names[row] == 'elbow'
    sliders.show(np.arange(8) / 100)
    shown = [control.value for control in page.sliders.values()]
    assert shown == pytest.approx(np.flatnonzero(frs.load('palletiser').actuated) / 100)


def test_zero_is_shown_without_a_sign():
    page = Page()
    JointSliders(page, frs.load('single_link'), print).show(np.array([-1e-17]))
    (control,) = page.sliders.values()
    assert str(control.value) == '0.0'
