"""
Topics: names, types, quality of service, rates, and the nodes that use them.

All publishers, subscriptions and recordings use this table. `python docs/reference_tables.py`
writes it to docs/ros.md, docs/rig_bridge.md and config/security_policy.xml. The module does not
import rclpy.
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


PLACEHOLDERS = re.compile('LINK|JOINT|NAME')  # in names of topics


class Topic(NamedTuple):
    """A topic; LINK, JOINT or NAME in its name stands for the words of `topic_words`."""

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
        """Return the topic of one link, joint, IMU or constraint."""
        return self._replace(name=PLACEHOLDERS.sub(word, self.name))

    def quality_for(self, node: str) -> Quality:
        """Return the quality of the subscription of a node."""
        return next(item.quality for item in self.subscribers if item.node == node)


IMU_KIND = 'sensor_msgs/msg/Imu'
JOINT_STATE, FLOATS = 'sensor_msgs/msg/JointState', 'std_msgs/msg/Float64MultiArray'
JOINT_TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'
POSE, WRENCH = 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/WrenchStamped'
POSE_WITH_COVARIANCE = 'geometry_msgs/msg/PoseWithCovarianceStamped'
ODOMETRY = 'nav_msgs/msg/Odometry'
TRANSFORMS = 'tf2_msgs/msg/TFMessage'
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
            'joints of the URDF, link side [rad, m; per s]; effort applied by the '
            'motor in the last step, within its limits [N m, N]',
        ),
        PublishingNode(
            'bridge',
            'telemetry_rate',
            'slide and turn from their encoders [m, rad; per s]; applied effort [N, N '
            'm], for the turn that of its model; 0 while the board plays a profile',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'controller', 'state of the joints; with `feedback: motor`, of the rigid joints only'
        ),
        SubscribingNode(
            'shaper', 'start of a motion without a point at time 0, and end of a goal'
        ),
        SubscribingNode('trajectory_action', 'path tolerance, goal tolerance and rest of the arm'),
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
            'motor side of flexible joints, in units of the joint; same stamp as `joint_states`',
        ),
        PublishingNode('bridge', 'never', 'no flexible joints on the bench'),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'with `feedback: motor`, state of the flexible joints with the stamp of '
            '`joint_states`',
        ),
        SubscribingNode('view', 'motor side of flexible joints', NEWEST),
        SubscribingNode('drift', 'motor side of flexible joints, if the robot has any', NEWEST),
    ),
)

FLEX_STATES = Topic(
    'flex_states',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'elastic coordinates and their rates, `LINK/bending_y_1` and so on, and those of '
            'universal, spherical and planar joints; no effort',
        ),
        PublishingNode(
            'bridge', 'flex_rate', 'elastic coordinates and their rates, estimated by `estimator`'
        ),
    ),
    subscribers=(
        SubscribingNode(
            'view',
            'deflection of the links; if messages stop, the picture keeps the last one',
            SAMPLES,
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
            'strain is curvature times the distance from the neutral axis; of a `<strain_gauge>`: '
            'strain over its distance',
        ),
        PublishingNode(
            'bridge', 'flex_rate', '`LINK/SENSOR`: measured mean curvature [1/m], and its rate'
        ),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'outputs of the flex sensors for `vibration_feedback`, if the robot has any',
        ),
        SubscribingNode('drift', 'vibration of the links', SAMPLES),
    ),
)

IMU = Topic(
    'imu/NAME',
    IMU_KIND,
    publishers=(
        PublishingNode(
            'dynamics',
            '`rate` of the `<imu>`',
            'an IMU of the robot: angular velocity [rad/s] and acceleration minus gravity [m/s2] '
            'in its axes, no orientation; only while it has subscribers',
        ),
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
            'bridge',
            'flex_rate',
            'the same pose with its covariance; variance 1e6 for quantities without a sensor',
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
            'pose of the tool link (parameter `tool`) in the base frame, or in the world if the '
            'base is moved [m]; only while it has subscribers',
        ),
        PublishingNode(
            'bridge',
            'flex_rate',
            'pose of the tool link (parameter `tool`) in the base frame, with the '
            'estimated deflection [m]; only while it has subscribers',
        ),
    ),
)

BASE_ODOMETRY = Topic(
    'base_odometry',
    ODOMETRY,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'pose of a free base in the root link, or of a moved one in the world [m], and its '
            'twist in its own axes [m/s, rad/s]; only while it has subscribers',
        ),
    ),
    subscribers=(SubscribingNode('view', 'pose of a free or moved base', NEWEST),),
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

CONSTRAINT_FORCE = Topic(
    'constraint_forces/NAME',
    WRENCH,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'wrench of a `<constraint>` on its child link, in the frame of that link [N, N m]; '
            'only while it has subscribers',
        ),
    ),
)

CONTACT = Topic(
    'contacts/NAME',
    WRENCH,
    publishers=(
        PublishingNode(
            'dynamics',
            'flex_rate',
            'wrench of a `<contact>` on its link, in the frame of that link [N, N m]; only while '
            'it has subscribers',
        ),
    ),
    subscribers=(SubscribingNode('view', 'forces of contacts, drawn as arrows', NEWEST),),
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

TF = Topic(
    'tf',
    TRANSFORMS,
    publishers=(
        PublishingNode(
            'dynamics',
            'display_rate',
            'pose of a free or moved base, with the stamp of `display_joint_states`; all other '
            'frames are from `robot_state_publisher`; requires `tf2_msgs`',
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
            'deformed links, coloured by surface strain, each in its own frame; rods; ground, '
            'obstacles, contact shapes and forces; path of the tool in the base frame since the '
            'last reset',
        ),
        PublishingNode(
            'bridge',
            'display_rate',
            'deformed link, coloured by surface strain, in its own frame, and path of the tool',
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
            'with `twin`: bench minus twin; joints [m, rad], flex sensors [1/m], '
            'lateral `LINK/tip_deflection` [m]',
        ),
    ),
)

TWIN_JOINT_STATES = Topic(
    'twin/joint_states',
    JOINT_STATE,
    publishers=(
        PublishingNode('bridge', 'twin_rate', 'with `twin`: joints of the twin [m, rad]'),
    ),
    subscribers=(SubscribingNode('view', 'joints of the twin of the bench', NEWEST),),
)

# commands

JOINT_COMMANDS = Topic(
    'joint_commands',
    JOINT_STATE,
    publishers=(
        PublishingNode(
            'controller',
            'with every state',
            'efforts by joint name [N m, N], with the stamp of the state to which they respond',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'dynamics',
            'efforts by joint name [N m, N]; joints that are not named keep their '
            'effort; zero after `command_timeout`',
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
            'on a button press',
            'force at the origin of the tool, in its frame [N]; zero at the end of '
            'the push and of the node',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'dynamics',
            'force at the origin of the link named in `frame_id`, and moment, in the '
            'frame of that link [N, N m]; acts until the next message or for '
            '`push_timeout`; zero ends it; at most 1e6 N and 1e6 N m',
        ),
        SubscribingNode('view', 'all pushes, drawn as arrows'),
    ),
    is_command=True,
)

BASE_MOTION = Topic(
    'base_motion',
    ODOMETRY,
    subscribers=(
        SubscribingNode(
            'dynamics',
            'pose of a moved base in the world [m], and twist in its own axes [m/s, rad/s], in '
            'place of the table of `<base>`; the base follows 0.1 s late, timed by the stamps, '
            'and stops if messages end, jump or are wrong',
        ),
    ),
    is_command=True,
)

REFERENCE = Topic(
    'controller/reference',
    JOINT_STATE,
    publishers=(
        PublishingNode('view', 'on a slider motion', 'target position of one joint [rad, m]'),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'step of the target position [rad, m], and its velocity if given; joints '
            'that are not named keep their target',
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
            'one per input trajectory',
            'shaped trajectory, stamped with the time of its first point',
        ),
        PublishingNode(
            'trajectory_action',
            'one per goal and per cancel',
            'trajectory of the goal, or a stop, stamped with the time of its first point',
        ),
    ),
    subscribers=(
        SubscribingNode(
            'controller',
            'trajectory from the present target; interpolation is linear for positions, cubic '
            'with velocities, quintic with accelerations; at most `max_trajectory_points`',
        ),
    ),
    is_command=True,
)

SHAPER_TRAJECTORY = Topic(
    'shaper/joint_trajectory',
    JOINT_TRAJECTORY,
    subscribers=(
        SubscribingNode(
            'shaper', 'unshaped trajectory; a trajectory without points is forwarded unchanged'
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
            '`stream_rate`, during a motion or while it receives set points',
            'shaped set points of all joints, with `stream: commands`; '
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
            'shaper',
            'unshaped set points; the parameter `stream` selects the type, as for `set_points`',
        ),
    ),
    is_command=True,
)

PROFILE = Topic(
    'bridge/profile',
    JOINT_TRAJECTORY,
    subscribers=(SubscribingNode('bridge', 'profile of efforts, played by the board'),),
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
            'shaper', 'end of the motion of the controller, if the controller publishes its target'
        ),
        SubscribingNode(
            'trajectory_action',
            'end of the motion of the controller, including the time added by its shaper',
        ),
        SubscribingNode('view', 'target of the joints', NEWEST),
    ),
)

TRAJECTORY_STATUS = Topic(
    'controller/trajectory_status',
    DIAGNOSTIC_STATUS,
    publishers=(
        PublishingNode(
            'controller',
            'on change',
            'state of a trajectory with a stamp: `stamp` [ns] and `state`, one of `accepted`, '
            '`refused`, `replaced` and `completed`; the message gives the reason of a refusal',
        ),
    ),
    subscribers=(
        SubscribingNode('shaper', 'refusal or replacement of a shaped trajectory'),
        SubscribingNode('trajectory_action', 'refusal or replacement of a trajectory'),
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
                'original description, xacro expanded; only if the parameter `robot` names it',
            )
            for node in ('dynamics', 'bridge')
        ),
    ),
    subscribers=(
        SubscribingNode(
            'dynamics',
            'description, if the parameter `robot` is empty; later changes are ignored',
            LATCHED,
        ),
        SubscribingNode(
            'shaper', 'description, if the parameters `robot` and `frequencies` are empty', LATCHED
        ),
        *(
            SubscribingNode(node, 'description, if the parameter `robot` is empty', LATCHED)
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
            'real-time factor, step times, missed deadlines, dropped time, accepted and rejected '
            'commands, energy balance, deflection relative to the validity limit of the model',
        ),
        PublishingNode(
            'controller',
            '1 Hz',
            'state (moving, settling, holding), joints that rest off their targets with the '
            'reason, unsuitable gains, targets, rejected inputs, gaps of the joint states, '
            'updates at the effort limit, shaper and its added time, feedback',
        ),
        PublishingNode(
            'shaper',
            '1 Hz',
            'number of shaped, forwarded and rejected trajectories, reason of the last rejection; '
            'added time of the shaper; number of received, rejected, late and clipped set points',
        ),
        PublishingNode(
            'drift',
            '1 Hz',
            'OK, WARN after a drift of the frequency, STALE without vibration; '
            'measured and predicted frequency, payload, number of stops',
        ),
        PublishingNode(
            'bridge',
            '1 Hz',
            'link, board, faults with remedies, rates, lost and damaged frames, '
            'reconnects, round-trip time, clock offset and drift, commands, set '
            'points beyond the limits of a motor',
        ),
    ),
    subscribers=(SubscribingNode('view', 'reports of `dynamics`, `bridge` and `controller`'),),
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
    """Return {name: unique word of letters, digits and _} for names of links, joints and so on."""
    words: dict[str, str] = {}
    for name in names:
        word = re.sub(r'[^A-Za-z0-9_]', '_', name)
        word = f'_{word}' if word[:1].isdigit() or not word else word
        while word in words.values():
            word += '_'
        words[name] = word
    return words
