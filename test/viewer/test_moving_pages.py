"""Pages of arms on moved and free bases, and of contacts, without a browser."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from contact_arms import slider
from free_arms import SPACE_ARM
from moved_bases import write_ship

import flex_robot_sim as frs
from flex_robot_sim.demo.viewed import _gravity_of
from flex_robot_sim.util.share import shipped_robots
from flex_robot_sim.viewer.live_arm import Live
from flex_robot_sim.viewer.model_view import ModelView


class Page:
    """A page that keeps the newest pose of its frames, its arrows, and its lines of text."""

    def __init__(self):
        self.poses, self.arrows, self.messages, self.texts, self.buttons = {}, {}, [], {}, {}

    def frame(self, name):
        """Return the setter of the pose of a frame."""
        return lambda p, turn: self.poses.update({name: np.append(p, turn)})

    def arrow(self, name, _colour, _size):
        """Return the setter of an arrow."""
        return lambda foot, head: self.arrows.update({name: (foot, head)})

    def text(self, content=''):
        """Return the setter of a text."""
        number = len(self.texts)
        return lambda new: self.texts.update({number: new})

    def button(self, label, reaction, _hint=''):
        """Keep the reaction of a button."""
        self.buttons[label] = reaction
        return MagicMock()

    def slider(self, _label, low, high, _step, value, *_):
        """Return a control with a value."""
        return MagicMock(value=value)

    def show_message(self, line):
        """Keep a message."""
        self.messages.append(line)

    def __getattr__(self, _name):
        return MagicMock()


@pytest.fixture
def ship_arm(tmp_path):
    """Arm on a ship."""
    write_ship(tmp_path / 'ship.csv', np.linspace(0.0, 20.0, 201))
    path, text = tmp_path / 'arm.urdf', shipped_robots()['single_link'].read_text()
    base = '<flexibility><base motion="ship.csv"/>'
    path.write_text(text.replace('<flexibility>', base, 1))
    return frs.load(path)


def test_drives_swing_on_a_moved_base_and_a_restart_returns_it_to_its_start(ship_arm):
    live, still = Live(ship_arm), Live(frs.load('single_link'))
    first = live.simulation.base_pose
    for one in (live, still):
        one.start(np.zeros(ship_arm.size), swings=True)
        one.advance(0.2)
        one.advance(0.3)
    simulation = frs.Simulation(ship_arm)
    simulation.step(500)
    np.testing.assert_allclose(live.simulation.base_pose, simulation.base_pose, atol=1e-12)
    assert np.abs(live.simulation.base_pose - first).max() > 1e-3
    # the drives take the same way as on a base that stands
    moved, at_rest = (one.simulation.motor_position for one in (live, still))
    np.testing.assert_allclose(moved, at_rest, rtol=0, atol=1e-9)
    live.reset()
    assert live.simulation.time == 0.0 and live.simulation.reports == []
    np.testing.assert_allclose(live.simulation.base_pose, first, rtol=0, atol=1e-15)


def test_the_page_moves_the_base_with_the_ship_and_back(ship_arm):
    page = Page()
    view = ModelView(page, ship_arm)
    view.update(0.0, 0.0)
    start = page.poses['/arm']
    page.buttons['drop']()
    for k in range(5):
        view.update(0.1, 0.1 * k)
    simulation = frs.Simulation(ship_arm)
    simulation.step(500)
    for name in ('/arm', '/ghost'):
        np.testing.assert_allclose(page.poses[name], simulation.base_pose, rtol=0, atol=1e-9)
    assert page.messages == []
    page.buttons['reset']()
    view.update(0.0, 1.0)
    # a picture takes one step at least
    np.testing.assert_allclose(page.poses['/arm'], start, rtol=0, atol=1e-3)
    assert np.abs(simulation.base_pose - start).max() > 0.05


@pytest.mark.parametrize('gravity, falls', [((0.0, 0.0, -9.81), True), ((0.0, 0.0, 0.0), False)])
def test_an_arm_on_a_free_base_is_shown_and_swings_also_with_gravity(tmp_path, gravity, falls):
    path, page = tmp_path / 'arm.urdf', Page()
    path.write_text(SPACE_ARM)
    arm = frs.load(path, gravity=gravity)
    view = ModelView(page, arm)
    assert page.messages == []
    page.buttons['swing']()
    note = 'the free base falls: --gravity 0,0,0 lets it float'
    assert page.messages == [note] * falls
    for k in range(5):
        view.update(0.1, 0.1 * k)
    assert page.messages == [note] * falls
    assert 'free base' not in page.texts[0] and 'driven' in page.texts[0]


def test_a_force_is_an_arrow_from_where_it_acts(tmp_path):
    path, page = tmp_path / 'ball.urdf', Page()
    path.write_text(slider(world='<ground height="-0.12"/>'))
    arm = frs.load(path)
    view = ModelView(page, arm)
    view.update(0.0, 0.0)
    foot, head = page.arrows['/contact/force 0']
    assert (foot == head).all()  # it is hidden
    page.buttons['drop']()
    for k in range(20):
        view.update(0.1, 0.1 * k)
    foot, head = page.arrows['/contact/force 0']
    assert foot == pytest.approx([0.0, 0.0, -0.12], abs=1e-3)
    assert (head - foot)[:2] == pytest.approx([0.0, 0.0], abs=1e-9) and head[2] > foot[2]
    # 2 kg at rest
    assert 'contact tool' in page.texts[0] and '19.6 N' in page.texts[0]
    # the drawn ball has the place of the link
    assert page.poses['/contact/shapes/shape 0'][2] == pytest.approx(-0.02, abs=1e-3)
    assert page.poses['/contact/surface 0'][:2] == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(
    'recorded, gravity',
    [
        ({'gravity': '0 0 -1.62'}, {'gravity': [0.0, 0.0, -1.62]}),
        ({'gravity': '0 0 0'}, {'gravity': [0.0, 0.0, 0.0]}),
        ({'gravity': '1 2'}, {}),
        ({'gravity': 'nan 0 0'}, {}),
        ({'gravity': 'a b c'}, {}),
        ({}, {}),
    ],
)
def test_a_replay_has_the_gravity_of_its_recording(recorded, gravity):
    assert _gravity_of(SimpleNamespace(about=recorded)) == gravity
