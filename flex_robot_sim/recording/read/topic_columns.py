"""Columns of ROS topics: signals of this package, and those that show a vibration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flex_robot_sim.ros import topics

# columns of sensor_msgs/Imu and geometry_msgs/WrenchStamped, best first
VIBRATION_COLUMNS = (
    tuple(f'linear_acceleration/{axis}' for axis in 'xyz'),
    tuple(f'wrench/{part}/{axis}' for part in ('force', 'torque') for axis in 'xyz'),
)


def signal_of(topic: str, column: str) -> str:
    """Return the signal name of a column of a flex_robot_sim topic, or ''."""
    kind, _, name = column.partition('/')
    words = topic.strip('/').split('/')
    if words[-1] == topics.JOINT_STATES.name and kind in ('position', 'velocity', 'effort'):
        return column
    if words[-1] == topics.MOTOR_STATES.name and kind in ('position', 'velocity'):
        return f'{"motor" if kind == "position" else "motor_velocity"}/{name}'
    if words[-1] == topics.STRAIN.name and kind == 'position':
        return name
    if words[-1] == topics.TIP_DEFLECTION.last_word and column.startswith('pose/position/'):
        return f'tip/{words[-2]}/{column[-1]}' if len(words) > 1 else ''
    return ''


def vibration_columns(columns: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """
    Return the names `topic:column` of the first IMU, else of the first force sensor, or ().

    :param columns: of each topic; a topic '' has names without a prefix.
    """
    for wanted in VIBRATION_COLUMNS:
        for topic, names in columns.items():
            if {*wanted} <= {*names}:
                return tuple(f'{topic}:{name}' if topic else name for name in wanted)
    return ()
