"""Definitions of messages made from their classes, compared with those that rosbags ships."""

import pytest

from flex_robot_sim.ros.definitions import message_type
from flex_robot_sim.ros.message_types import definition_of, type_of

KINDS = (
    'sensor_msgs/msg/JointState',
    'diagnostic_msgs/msg/DiagnosticArray',
    'visualization_msgs/msg/MarkerArray',
    'trajectory_msgs/msg/JointTrajectory',
    'geometry_msgs/msg/WrenchStamped',
    'geometry_msgs/msg/PoseWithCovariance',
    'std_msgs/msg/Float64MultiArray',
    'std_msgs/msg/Empty',
    'rosgraph_msgs/msg/Clock',
)


@pytest.mark.parametrize('kind', KINDS)
def test_a_definition_has_the_fields_of_the_type_in_their_order(kind):
    typesys = pytest.importorskip('rosbags.typesys')
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    text = definition_of(type_of(kind))
    theirs = typesys.get_types_from_msg(text, kind)
    for name, (_, fields) in theirs.items():
        # what stands for no field at all is no field of a definition
        assert fields == [
            field
            for field in store.fielddefs[name][1]
            if field[0] != 'structure_needs_at_least_one_member'
        ], name
    assert message_type(kind, text).name == kind.replace('/msg/', '/')


def test_what_is_not_installed_has_no_type():
    assert type_of('no_such_msgs/msg/Thing') is None
    assert type_of('sensor_msgs/msg/NoSuchThing') is None
