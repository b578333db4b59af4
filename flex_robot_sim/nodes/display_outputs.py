"""
The picture of an arm for rviz: the joints of the display description, bent links, the tool's path.

`show` takes a copy of the state and returns at once; a timer of the node makes the messages, since
that takes longer than a period of the simulation.
"""

from geometry_msgs.msg import Point
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.joints import DisplayJoints
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.tool_path import ToolPath
from flex_robot_sim.nodes.conversions import JointStateBuffer, set_stamp, set_vector
from flex_robot_sim.nodes.topics import STATES

SHAPES = {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER}
PATH_POINTS, PATH_SPACING = 500, 2e-3       # of the tool's path, and the least distance    [m]
PATH_WIDTH = 2e-3                           # [m]
PATH_COLOUR = (0.20, 0.60, 0.86, 0.9)


class DisplayOutputs:
    """Publishers of `display_joint_states` and `bending_markers`."""

    def __init__(self, node, arm, tool, settings):
        """
        Make the publishers of `node` for an ArmModel.

        :param tool: link whose path is drawn.
        :param settings: OutputSettings.
        """
        self._arm, self._tool, self._state = arm, tool, None
        self._base = arm.description.links[0].name
        self._joints = DisplayJoints(arm)
        self._joint_states = JointStateBuffer(self._joints.names, ('position',))
        self._posture, self._path = Posture(arm), ToolPath(PATH_POINTS, PATH_SPACING)
        self._set_scale(settings)
        self._joint_publisher = node.create_publisher(JointState, 'display_joint_states', STATES)
        self._marker_publisher = node.create_publisher(MarkerArray, 'bending_markers', STATES)
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(1.0 / settings.display_rate, self._draw,
                                        clock=self._clock)

    def change(self, settings):
        """Take over OutputSettings whose live ones have changed."""
        self._timer.timer_period_ns = round(1e9 / settings.display_rate)
        self._set_scale(settings)

    def show(self, stamp, q):
        """Draw the coordinates (n,) next time, with a stamp [ns]; any thread may call this."""
        self._state = stamp, q

    def _set_scale(self, settings):
        self._shape = BendingShape(self._arm, full_scale=settings.strain_scale or None)
        self._markers = self._new_markers()

    def _new_markers(self):
        """Return one marker per piece, and one for the path."""
        markers = []
        for link in self._shape.links:
            for k in range(link.pieces.stop - link.pieces.start):
                markers.append(self._marker(link.link, k, SHAPES[link.shape]))
        path = self._marker('tool path', 0, Marker.LINE_STRIP)
        path.scale.x = PATH_WIDTH
        path.color = ColorRGBA(**dict(zip('rgba', PATH_COLOUR)))
        path.pose.orientation.w = 1.0
        return MarkerArray(markers=[*markers, path])

    def _marker(self, namespace, number, kind):
        marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
        marker.header.frame_id = self._base
        return marker

    def _draw(self):
        if self._state is None:
            return
        stamp, q = self._state
        if self._joint_publisher.get_subscription_count():
            self._joint_publisher.publish(
                self._joint_states.fill(stamp, self._joints.positions(q)))
        self._note_path(q)
        if self._marker_publisher.get_subscription_count():
            self._fill_markers(stamp, q)
            self._marker_publisher.publish(self._markers)

    def _note_path(self, q):
        self._posture.take(q)
        frame = self._arm.frames[self._tool]
        point = frame.p
        if frame.body >= 0:
            point = (self._posture.base_R[frame.body] @ frame.p
                     + self._posture.base_p[frame.body])
        self._path.add(point)

    def _fill_markers(self, stamp, q):
        bent = self._shape.bent(q)
        *pieces, path = self._markers.markers
        rows = zip(pieces, bent.position, bent.orientation.tolist(), bent.scale,
                   bent.rgba.tolist())
        for marker, position, quaternion, scale, rgba in rows:
            set_stamp(marker.header.stamp, stamp)
            set_vector(marker.pose.position, position)
            turn, colour = marker.pose.orientation, marker.color
            turn.x, turn.y, turn.z, turn.w = quaternion
            set_vector(marker.scale, scale)
            colour.r, colour.g, colour.b, colour.a = rgba
        set_stamp(path.header.stamp, stamp)
        path.points = [Point(x=x, y=y, z=z) for x, y, z in self._path.points.tolist()]
