"""
FollowJointTrajectory through the shaper.

No wheel has control_msgs: its types are stand-ins here, of the fields that it has, and what the
node does with them is asked; the last test asks it over DDS where the package is installed.
"""

from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.nodes.shaper_action import ShaperAction, offer_follow_joint_trajectory

CODES = {'SUCCESSFUL': 0, 'INVALID_GOAL': -1, 'GOAL_TOLERANCE_VIOLATED': -5}


class Result(SimpleNamespace):
    """Result codes of control_msgs."""

    SUCCESSFUL, INVALID_GOAL, GOAL_TOLERANCE_VIOLATED = CODES.values()


KIND = SimpleNamespace(Result=Result, Goal=SimpleNamespace)


def goal_for(end=0.5, tolerance=0.0, late=0):
    point = JointTrajectoryPoint(positions=[end], time_from_start=Duration(sec=1))
    return SimpleNamespace(
        trajectory=JointTrajectory(joint_names=['a'], points=[point]), path_tolerance=['path'],
        goal_tolerance=[SimpleNamespace(name='a', position=tolerance)],
        goal_time_tolerance=Duration(sec=late))


class Handle:
    """A goal as the server of rclpy hands it over."""

    def __init__(self, goal):
        self.request, self.is_cancel_requested, self.ended = goal, False, []
        self.abort, self.succeed, self.canceled = (
            lambda word=word: self.ended.append(word) for word in ('abort', 'succeed', 'canceled'))


class Relay:
    """What shapes: each motion takes two seconds, a stop one."""

    def __init__(self):
        self.time, self.sent, self.measured, self.problem = 0.0, [], {}, None

    def shape(self, trajectory):
        """Shape a trajectory, or say what is wrong."""
        if self.problem:
            raise SettingError(self.problem)
        return ('shaped', trajectory.points[-1].positions[0]), self.time + 2.0

    def stop(self):
        """Stop where it is."""
        return 'stop', self.time + 1.0

    def publish(self, message):
        """Keep what is sent."""
        self.sent.append(message)

    def now(self):
        """Time of now."""
        return self.time


class Running:
    """An accepted goal that is carried out, step by step."""

    def __init__(self, action, goal):
        self.handle = Handle(goal)
        self._steps, self.result = action.execute(self.handle).__await__(), None
        self.go_on()

    def go_on(self):
        """Take the next step."""
        try:
            next(self._steps)
        except StopIteration as end:
            self.result = end.value


@pytest.fixture
def relay():
    return Relay()


@pytest.fixture
def action(relay):
    return ShaperAction(SimpleNamespace(), relay, KIND)


def look(action, relay, time, *goals):
    relay.time = time
    action.look()
    for goal in goals:
        if goal.result is None and goal.handle is not None:
            goal.go_on()


def test_the_result_comes_after_the_shaped_end(action, relay):
    goal = Running(action, goal_for())
    assert relay.sent == [('shaped', 0.5)]
    look(action, relay, 1.9, goal)
    assert goal.result is None
    look(action, relay, 2.0, goal)
    assert goal.handle.ended == ['succeed'] and goal.result.error_code == 0


def test_a_cancelled_goal_is_stopped_shaped(action, relay):
    goal = Running(action, goal_for())
    goal.handle.is_cancel_requested = True
    look(action, relay, 0.5, goal)
    assert relay.sent[-1] == 'stop' and goal.result is None
    look(action, relay, 1.4, goal)
    assert goal.result is None and len(relay.sent) == 2
    look(action, relay, 1.5, goal)
    assert goal.handle.ended == ['canceled']


def test_a_new_goal_ends_the_one_before(action, relay):
    first = Running(action, goal_for())
    relay.time = 0.5
    second = Running(action, goal_for(0.2))
    first.go_on()
    assert first.handle.ended == ['abort']
    assert first.result.error_string == 'replaced by a new goal'
    look(action, relay, 2.5, second)
    assert second.handle.ended == ['succeed'] and relay.sent[-1] == ('shaped', 0.2)


def test_what_cannot_be_shaped_is_aborted_with_the_reason(action, relay):
    relay.problem = 'it begins elsewhere'
    goal = Running(action, goal_for())
    assert goal.handle.ended == ['abort'] and relay.sent == []
    assert (goal.result.error_code, goal.result.error_string) == (-1, 'it begins elsewhere')


@pytest.mark.parametrize('place, ended, code', [(0.49, 'succeed', 0), (0.3, 'abort', -5)])
def test_tolerances_of_the_goal_are_kept_to(action, relay, place, ended, code):
    relay.measured = {'a': place}
    goal = Running(action, goal_for(tolerance=0.05, late=1))
    look(action, relay, 2.5, goal)
    assert (goal.result is None) == (place == 0.3)
    look(action, relay, 3.0, goal)
    assert goal.handle.ended == [ended] and goal.result.error_code == code


class Controller:
    """An ActionClient whose controller answers when it is told to."""

    def __init__(self):
        self.goals, self._asked = [], []

    def server_is_ready(self):
        """Whether anybody is there."""
        return True

    def send_goal_async(self, goal, feedback_callback):
        """Keep a goal."""
        self.goals.append(goal)
        result = SimpleNamespace(callback=None)
        result.add_done_callback = lambda callback: setattr(result, 'callback', callback)
        accepted = SimpleNamespace(accepted=True, get_result_async=lambda: result)
        self._asked.append(result)
        return SimpleNamespace(add_done_callback=lambda callback: callback(
            SimpleNamespace(result=lambda: accepted)))

    def answer(self, k, status, code):
        """Answer a goal."""
        done = SimpleNamespace(status=status, result=Result(error_code=code, error_string='so'))
        self._asked[k].callback(SimpleNamespace(result=lambda: done))


@pytest.mark.parametrize('status, ended, code', [(4, 'succeed', 0), (6, 'abort', -4)])
def test_the_controller_has_the_last_word_where_it_has_an_action(relay, status, ended, code):
    controller = Controller()
    action = ShaperAction(SimpleNamespace(), relay, KIND, controller)
    goal = Running(action, goal_for(tolerance=0.05))
    sent, = controller.goals
    assert sent.trajectory == ('shaped', 0.5) and relay.sent == []
    assert sent.path_tolerance == ['path'] and sent.goal_tolerance[0].position == 0.05
    look(action, relay, 9.0, goal)
    assert goal.result is None
    controller.answer(0, status, code)
    goal.go_on()
    assert goal.handle.ended == [ended] and goal.result.error_code == code


def test_a_cancelled_goal_stops_the_controller_by_another_goal(relay):
    controller = Controller()
    action = ShaperAction(SimpleNamespace(), relay, KIND, controller)
    goal = Running(action, goal_for())
    goal.handle.is_cancel_requested = True
    look(action, relay, 0.5, goal)
    assert [sent.trajectory for sent in controller.goals] == [('shaped', 0.5), 'stop']
    controller.answer(0, 6, 0)              # of what was replaced
    goal.go_on()
    assert goal.result is None
    controller.answer(1, 4, 0)
    goal.go_on()
    assert goal.handle.ended == ['canceled']


def test_nothing_is_offered_where_the_package_is_missing():
    try:
        import control_msgs.action  # noqa: F401
    except ImportError:
        assert offer_follow_joint_trajectory(None, None) is None


def test_goals_over_dds(start, observer):
    action = pytest.importorskip('control_msgs.action')
    from rclpy.action import ActionClient

    process = start('shaper', '-r', '__ns:=/goals', frequencies='[2.3]', shaper='zvd')
    process.wait_for_line('/goals/shaper/joint_trajectory')
    sent = observer.listen(JointTrajectory, '/goals/joint_trajectory')
    client = ActionClient(observer.node, action.FollowJointTrajectory,
                          '/goals/shaper/follow_joint_trajectory')
    observer.spin_until(client.server_is_ready)
    points = [JointTrajectoryPoint(positions=[x], velocities=[0.0],
                                   time_from_start=Duration(sec=sec)) for sec, x in
              ((0, 0.0), (1, 0.5))]
    answer = client.send_goal_async(action.FollowJointTrajectory.Goal(
        trajectory=JointTrajectory(joint_names=['a'], points=points)))
    observer.spin_until(answer.done)
    assert answer.result().accepted
    result = answer.result().get_result_async()
    observer.spin_until(result.done)
    assert result.result().result.error_code == 0
    assert list(sent[-1].points[-1].positions) == [0.5]


