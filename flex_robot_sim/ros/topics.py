"""
Topics: names, types, quality of service, rates, and the nodes that use them.

Publishers, subscriptions, recordings and readers take them from here, and
`python docs/reference_tables.py` writes the tables of docs/ros.md and docs/rig_bridge.md and the
topics of config/security_policy.xml. rclpy is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Quality(NamedTuple):
    """Quality of service of a publisher or subscription."""

    depth: int
    is_reliable: bool = True
    is_latched: bool = False

    def __str__(self) -> str:
        """Return the text in the tables."""
        if self.is_latched:
            return 'latched'
        return f'{"reliable" if self.is_reliable else "best effort"} {self.depth}'


RELIABLE = Quality(10)
"""Compatible with any subscriber; a slow one misses old messages only."""

LATCHED = Quality(1, is_latched=True)
"""Published once, and stored for later subscribers."""

NEWEST = Quality(1, is_reliable=False)
"""For subscribers that poll the newest message only."""

SAMPLES = Quality(100, is_reliable=False)
"""For subscribers that poll all messages since the last poll."""


class PublishingNode(NamedTuple):
    """A node that publishes a topic."""

    node: str
    rate: str  # setting of the node that gives the rate, or a text
    meaning: str


class SubscribingNode(NamedTuple):
    """A node that subscribes to a topic."""

    node: str
    meaning: str
    quality: Quality = RELIABLE


class Topic(NamedTuple):
    """A topic; LINK or JOINT in its name stands for the words of `topic_words`."""

    name: str  # relative to the namespace, unless it begins with /
    kind: str  # type of its messages
    publishers: tuple[PublishingNode, ...] = ()
    subscribers: tuple[SubscribingNode, ...] = ()
    quality: Quality = RELIABLE  # of its publishers
    is_command: bool = False  # whether its messages move an arm

    @property
    def private(self) -> Topic:
        """The same topic under the private name of its node, ~/target for controller/target."""
        return self._replace(name=f'~/{self.last_word}')

    @property
    def last_word(self) -> str:
        """Part of the name after the last slash."""
        return self.name.rpartition('/')[2]

    def with_word(self, word: str) -> Topic:
        """Return the topic of one link or joint."""
        return self._replace(name=re.sub('LINK|JOINT', word, self.name))

    def quality_for(self, node: str) -> Quality:
        """Return the quality of the subscription of a node."""
        return next(item.quality for item in self.subscribers if item.node == node)


JOINT_STATE, FLOATS = 'sensor_msgs/msg/JointState', 'std_msgs/msg/Float64MultiArray'
JOINT_TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
POSE, WRENCH = 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/WrenchStamped'
POSE_WITH_COVARIANCE = 'geometry_msgs/msg/PoseWithCovarianceStamped'
TEXT = 'std_msgs/msg/String'
DIAGNOSTIC_ARRAY = 'diagnostic_msgs/msg/DiagnosticArray'
DIAGNOSTIC_STATUS = 'diagnostic_msgs/msg/DiagnosticStatus'

# states of an arm

JOINT_STATES = Topic(
    'joint_states',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'dynamics',
            'joint_state_rate',
            'joints of the URDF: link side of their drives [rad, m; per s]; effort is '
            'that of the motor in the last step, within the limits of its drive '
            '[N m, N]',
        ),
        PublishingNode(
            'bridge',
            'telemetry_rate',
            'slide and turn from their encoders [m, rad; per s]; effort is that of the '
            'motor of the slide, and that of the model of the turn [N, N m]; 0 while the '
            'board plays a profile',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'controller', 'the state; with `feedback: motor`, of the joints that are rigid'
        ),
        SubscribingNode(
            'shaper',
            'start of a trajectory without a point at time 0, and whether the arm has arrived',
        ),
        SubscribingNode(
            'trajectory_action',
            'whether the arm keeps to its path, has arrived, or has come to rest',
        ),
        SubscribingNode('view', 'positions and efforts of the joints', NEWEST),
        SubscribingNode(
            'drift', 'positions of the drives, and their efforts against gravity', NEWEST
        ),
    ),
)

MOTOR_STATES = Topic(
    'motor_states',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'dynamics',
            'joint_state_rate',
            'flexible joints: motor side, behind the gear; same stamp as `joint_states`',
        ),
        PublishingNode('bridge', 'never', 'the bench has no flexible joints'),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'with `feedback: motor`, the state of flexible joints; one with the stamp of '
            '`joint_states` completes it',
        ),
        SubscribingNode('view', 'motor side of flexible joints', NEWEST),
        SubscribingNode(
            'drift', 'motor side of flexible joints; only where the robot has some', NEWEST
        ),
    ),
)

FLEX_STATES = Topic(
    'flex_states',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'elastic coordinates and their rates, `LINK/bending_y_1` and so on; no effort',
        ),
        PublishingNode(
            'bridge', 'flex_rate', 'elastic coordinates and their rates, by `estimator`'
        ),
    ),
    subscribers=(
        SubscribingNode(
            'view', 'deflection of the links; without it the view shows the last one', SAMPLES
        ),
    ),
)

STRAIN = Topic(
    'strain',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            '`LINK/SENSOR`: position is the mean curvature [1/m], velocity its rate; '
            'strain is curvature times the distance from the neutral axis',
        ),
        PublishingNode(
            'bridge', 'flex_rate', '`LINK/SENSOR`: measured mean curvature [1/m], and its rate'
        ),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'outputs of the flex sensors, for `vibration_feedback`; only where the robot has some',
        ),
        SubscribingNode('drift', 'vibration of the links', SAMPLES),
    ),
)

TIP_DEFLECTION = Topic(
    'LINK/tip_deflection',
    POSE,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'tip of a flexible link in its undeformed tip frame, `LINK/undeformed_tip` of '
            'TF, x along the beam [m]; only while it has subscribers',
        ),
        PublishingNode(
            'bridge',
            'flex_rate',
            'tip in the undeformed tip frame [m]; only while it has subscribers',
        ),
    ),
)

TIP_COVARIANCE = Topic(
    'LINK/tip_deflection_with_covariance',
    POSE_WITH_COVARIANCE,
    publishers=(
        PublishingNode(
            'bridge', 'flex_rate', 'the same with variances; 1e6 for quantities without a sensor'
        ),
    ),
)

TOOL_POSE = Topic(
    'tool_pose',
    POSE,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'the tool link (parameter `tool`) in the base frame [m]; only while it has '
            'subscribers',
        ),
        PublishingNode(
            'bridge',
            'flex_rate',
            'the tool link (parameter `tool`) in the base frame, by the estimated bending '
            '[m]; only while it has subscribers',
        ),
    ),
)

JOINT_WRENCH = Topic(
    'joint_wrenches/JOINT',
    WRENCH,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'wrench that a joint of `wrench_joints` transmits to its child link, in the '
            'frame of that link [N, N m]',
        ),
    ),
)

DISPLAY_JOINT_STATES = Topic(
    'display_joint_states',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'dynamics',
            'display_rate',
            'all joints of the display description, for `robot_state_publisher`',
        ),
        PublishingNode(
            'bridge',
            'display_rate',
            'all joints of the display description, for `robot_state_publisher`',
        ),
    ),
)

BENDING_MARKERS = Topic(
    'bending_markers',
    'visualization_msgs/msg/MarkerArray',
    publishers=(
        PublishingNode(
            'dynamics',
            'display_rate',
            'bent links, coloured by surface strain, each in its own frame; the path of '
            'the tool in the base frame, cleared by a reset',
        ),
        PublishingNode(
            'bridge',
            'display_rate',
            'the bent link, coloured by surface strain, in its own frame, and the path of '
            'the tool',
        ),
    ),
)

TWIN_RESIDUAL = Topic(
    'twin/residual',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'bridge',
            'twin_rate',
            'with `twin`: bench less twin; joints [m, rad], flex sensors [1/m], '
            '`LINK/tip_deflection` across [m]',
        ),
    ),
)

TWIN_JOINT_STATES = Topic(
    'twin/joint_states',
    JOINT_STATE,
    publishers=(PublishingNode('bridge', 'twin_rate', 'with `twin`: its joints [m, rad]'),),
    subscribers=(SubscribingNode('view', 'the joints of the twin of a bench', NEWEST),),
)

# commands

JOINT_COMMANDS = Topic(
    'joint_commands',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'controller',
            'with every state',
            'efforts by joint name [N m, N], with the stamp of the state that they answer',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'dynamics',
            'efforts by joint name [N m, N]; other joints keep their efforts; zero after '
            '`command_timeout`',
        ),
        SubscribingNode('bridge', 'efforts by joint name [N, N m]; zero after `command_timeout`'),
    ),
    is_command=True,
)

EFFORT_COMMANDS = Topic(
    'effort_controller/commands',
    FLOATS,
    subscribers=(
        SubscribingNode('dynamics', 'efforts in the order of `joint_states` [N m, N]'),
        SubscribingNode('bridge', 'efforts of slide and turn [N, N m]'),
    ),
    is_command=True,
)

EFFORT_TOPICS = JOINT_COMMANDS, EFFORT_COMMANDS
"""Effort commands for an arm; only one node should publish them."""

PUSH = Topic(
    'push',
    WRENCH,
    publishers=(
        PublishingNode(
            'view',
            'when a button is pressed',
            'force at the origin of the tool, in its frame [N]; zero when the push is '
            'over, and when the node ends',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'dynamics',
            'force at the origin of the link named in `frame_id`, and moment, in that '
            'frame and turning with it [N, N m]; until the next push, or for '
            '`push_timeout`; zero ends it; at most 1e6 N and 1e6 N m',
        ),
        SubscribingNode('view', 'all pushes, drawn as arrows'),
    ),
    is_command=True,
)

REFERENCE = Topic(
    'controller/reference',
    JOINT_STATE,
    publishers=(
        PublishingNode('view', 'when a slider is moved', 'target position of one joint [rad, m]'),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'target positions, effective at once [rad, m], and target velocities if given; '
            'other joints keep their targets',
        ),
    ),
    is_command=True,
)

TRAJECTORY = Topic(
    'joint_trajectory',
    JOINT_TRAJECTORY,
    publishers=(
        PublishingNode(
            'shaper',
            'for each incoming trajectory',
            'the shaped trajectory, stamped with the time of its first point',
        ),
        PublishingNode(
            'trajectory_action',
            'for each goal and each cancellation',
            'the trajectory of the goal, or a stop, with the time of its first point as stamp',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'points over time, starting at the present target; linear between positions, '
            'cubic with velocities, quintic with accelerations; at most '
            '`max_trajectory_points`',
        ),
    ),
    is_command=True,
)

SHAPER_TRAJECTORY = Topic(
    'shaper/joint_trajectory',
    JOINT_TRAJECTORY,
    subscribers=(
        SubscribingNode(
            'shaper', 'the trajectory to shape; one without points is passed on unchanged'
        ),
    ),
    is_command=True,
)

SET_POINTS = Topic(
    'set_points',
    FLOATS,
    publishers=(
        PublishingNode(
            'shaper',
            '`stream_rate`, during a motion or while set points arrive',
            'the shaped stream, all joints, with `stream: commands`; '
            '`sensor_msgs/msg/JointState` with `joint_state`, '
            '`trajectory_msgs/msg/JointTrajectory` of one point with `joint_trajectory`',
        ),
    ),
    is_command=True,
)

SHAPER_SET_POINTS = Topic(
    'shaper/set_points',
    FLOATS,
    subscribers=(
        SubscribingNode(
            'shaper', 'the stream to shape; other messages by the parameter `stream`, as above'
        ),
    ),
    is_command=True,
)

PROFILE = Topic(
    'bridge/profile',
    JOINT_TRAJECTORY,
    subscribers=(SubscribingNode('bridge', 'efforts over time for the board to play'),),
    is_command=True,
)

# reports

TARGET = Topic(
    'controller/target',
    JOINT_STATE,
    publishers=(
        PublishingNode('controller', '50 Hz', 'present target of the joints [rad, m; per s]'),
    ),
    subscribers=(
        SubscribingNode(
            'shaper',
            'whether the target of the controller has arrived, where the controller publishes one',
        ),
        SubscribingNode(
            'trajectory_action',
            'whether the target of the controller has arrived, later by its shaper',
        ),
        SubscribingNode('view', 'targets of the joints', NEWEST),
    ),
)

TRAJECTORY_STATUS = Topic(
    'controller/trajectory_status',
    DIAGNOSTIC_STATUS,
    publishers=(
        PublishingNode(
            'controller',
            'when it changes',
            'state of a trajectory that has a stamp: `stamp` [ns] and `state`, which is '
            '`accepted`, `refused`, `replaced` or `completed`; the message gives the '
            'reason of a refusal',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'shaper', 'whether the controller refused or replaced a shaped trajectory'
        ),
        SubscribingNode(
            'trajectory_action', 'whether the controller refused or replaced a trajectory'
        ),
    ),
)

ROBOT_DESCRIPTION = Topic(
    'robot_description',
    TEXT,
    publishers=(
        *(
            PublishingNode(
                node,
                'once',
                'the original robot, xacro expanded; only where the parameter `robot` names it',
            )
            for node in ('dynamics', 'bridge')
        ),
    ),
    subscribers=(
        SubscribingNode(
            'dynamics',
            'the robot, where the parameter `robot` is empty; later messages are ignored',
            LATCHED,
        ),
        SubscribingNode(
            'shaper',
            'the robot, where the parameters `robot` and `frequencies` are empty',
            LATCHED,
        ),
        *(
            SubscribingNode(node, 'the robot, where the parameter `robot` is empty', LATCHED)
            for node in ('controller', 'trajectory_action', 'view', 'drift', 'bridge')
        ),
    ),
    quality=LATCHED,
)

CLOCK = Topic(
    '/clock',
    'rosgraph_msgs/msg/Clock',
    publishers=(PublishingNode('dynamics', 'clock_rate', 'simulated time, with `publish_clock`'),),
    quality=Quality(1),
)

DIAGNOSTICS = Topic(
    '/diagnostics',
    DIAGNOSTIC_ARRAY,
    publishers=(
        PublishingNode(
            'dynamics',
            '1 Hz',
            'real-time factor, step times, missed deadlines, dropped time, accepted and '
            'refused commands, energy balance, bending over the limit of the model',
        ),
        PublishingNode(
            'controller',
            '1 Hz',
            'motion state, joint with a steady-state error and its cause, unstable gains, '
            'targets, refused inputs, gaps between states, updates at the effort limit, '
            'shaper and its added time, feedback',
        ),
        PublishingNode(
            'shaper',
            '1 Hz',
            'trajectories shaped, passed on and refused, and the reason of the last refusal; '
            'added time of the shaper; set points received, refused, late, and beyond a limit',
        ),
        PublishingNode(
            'drift',
            '1 Hz',
            'whether the arm vibrates as its model predicts; OK, WARN where its frequency '
            'has drifted, STALE without vibration; frequency and the expected one, '
            'payload, stops',
        ),
        PublishingNode(
            'bridge',
            '1 Hz',
            'link, board, faults with their remedies, rates, lost and damaged frames, '
            'reconnects, round trip, clock offset and drift, commands, set points beyond '
            'a motor',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'view', 'reports of `dynamics`, `bridge` and `controller`, and the energy'
        ),
    ),
)

TOPICS = tuple(item for item in [*globals().values()] if isinstance(item, Topic))
"""All topics, in the order of the tables."""


def published_by(node: str) -> list[tuple[Topic, PublishingNode]]:
    """Return the topics that a node publishes."""
    return [(topic, item) for topic in TOPICS for item in topic.publishers if item.node == node]


def subscribed_by(node: str) -> list[tuple[Topic, SubscribingNode]]:
    """Return the topics to which a node subscribes."""
    return [(topic, item) for topic in TOPICS for item in topic.subscribers if item.node == node]


def topic_words(names: Iterable[str]) -> dict[str, str]:
    """Return {name: unique word of letters, digits and _} for names of links and joints."""
    words: dict[str, str] = {}
    for name in names:
        word = re.sub(r'[^A-Za-z0-9_]', '_', name)
        word = f'_{word}' if word[:1].isdigit() or not word else word
        while word in words.values():
            word += '_'
        words[name] = word
    return words
