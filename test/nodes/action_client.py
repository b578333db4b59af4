"""A client of FollowJointTrajectory, as MoveIt is one, and trajectories for two_link."""

import time

import numpy as np
from builtin_interfaces.msg import Duration
from node_processes import PATIENCE
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NAMES = ('waist', 'shoulder', 'elbow')
ASK_PERIOD_S = 10.0  # of a result
EXECUTING, SUCCEEDED, CANCELED, ABORTED = 2, 4, 5, 6


def trajectory(points, names=NAMES):
    """JointTrajectory of {seconds: positions}, at rest at its points."""
    message = JointTrajectory(joint_names=list(names))
    for seconds, positions in points.items():
        message.points.append(
            JointTrajectoryPoint(
                positions=[float(x) for x in positions],
                velocities=[0.0] * len(positions),
                time_from_start=duration(seconds),
            )
        )
    return message


def duration(seconds):
    whole = int(seconds)
    return Duration(sec=whole, nanosec=round((seconds - whole) * 1e9))


class Client:
    """A client of an action, as MoveIt is one, and the state of the arm."""

    known: dict = {}  # clients by name, because it takes seconds to find a server

    def __init__(self, observer, name, states=''):
        from control_msgs.action import FollowJointTrajectory

        self.kind, self._observer = FollowJointTrajectory, observer
        if name not in self.known:
            self.known[name] = ActionClient(observer.node, FollowJointTrajectory, name)
        self._client, self.feedback = self.known[name], []
        observer.spin_until(self._client.server_is_ready, what=f'the action {name}')
        if states:
            self.states = observer.listen(JointState, states)
            observer.spin_until(lambda: self.states)

    def send(self, message, **fields):
        """Return the handle of a goal."""
        answer = self._client.send_goal_async(
            self.kind.Goal(trajectory=message, **fields),
            feedback_callback=lambda news: self.feedback.append(news.feedback),
        )
        self._observer.spin_until(answer.done, what='an answer to the goal')
        return answer.result()

    def result(self, handle):
        """Status, code and line of a goal when it has ended."""
        assert handle.accepted
        end = time.monotonic() + PATIENCE
        while True:
            # a server that has not found this client yet loses its response: ask again
            answer, last = handle.get_result_async(), time.monotonic() + ASK_PERIOD_S
            self._observer.spin_until(
                lambda answer=answer, last=last: answer.done() or time.monotonic() > last
            )
            if answer.done():
                result = answer.result()
                return result.status, result.result.error_code, result.result.error_string
            assert time.monotonic() < end, 'a result did not arrive'

    def cancel(self, handle):
        """Whether a goal is to be canceled; False: it has ended before."""
        answer = handle.cancel_goal_async()
        self._observer.spin_until(answer.done, what='an answer to the cancellation')
        return bool(answer.result().goals_canceling)

    def wait(self, seconds):
        """Handle messages for a time [s]."""
        end = time.monotonic() + seconds
        self._observer.spin_until(lambda: time.monotonic() > end)

    @property
    def position(self):
        """Positions of NAMES [rad]."""
        message = self.states[-1]
        return np.array([message.position[message.name.index(name)] for name in NAMES])

    def fastest(self, since=-1):
        """Largest speed of a joint in the states since an index."""
        return max(np.abs(message.velocity).max() for message in self.states[since:])

    def rest(self):
        """Wait until the arm rests."""
        self._observer.spin_until(lambda: self.fastest() < 1e-3, what='rest')

    def goal_near(self, change, seconds=1.0):
        """Trajectory to a place near the arm."""
        end = np.clip(self.position + change, [-1.0, 0.0, -1.0], 1.0)
        return trajectory({0.0: self.position, seconds: end})
