"""
Display of an arm in rviz: joints of the display description, bent links, rods, contacts, path.

A `distance` constraint is a rod without a link: a line between its ends.

`show` stores a copy of the state and returns at once. A timer of the node makes the messages,
which takes longer than a period of the simulation.

TF and markers arrive on different topics, and rviz draws them from different instants. To avoid
gaps between moving parts, each marker is published in the frame of its link, locked to it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from geometry_msgs.msg import Point
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from flex_robot_sim.display.base_frames import is_base_shown
from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.colours import ROD_COLOUR, colour_ramp
from flex_robot_sim.display.display_joints import DisplayJoints
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.reduced_surface import link_surfaces
from flex_robot_sim.display.tool_path import ToolPath
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.base_transform import BaseTransform
from flex_robot_sim.nodes.bridge_settings import BridgeOutputSettings
from flex_robot_sim.nodes.contact_markers import ContactMarkers
from flex_robot_sim.nodes.settings import OutputSettings
from flex_robot_sim.ros import topics
from flex_robot_sim.ros.conversions import JointStateBuffer, set_stamp, set_vector
from flex_robot_sim.ros.endpoints import advertise, make_timer

SHAPES = {'box': Marker.CUBE, 'cylinder': Marker.CYLINDER}
MAX_PATH_POINTS = 500  # of the tool path
PATH_SPACING_RATIO, PATH_WIDTH_RATIO = 2e-3, 3e-3  # relative to the reach of the arm
PATH_COLOUR = (0.20, 0.60, 0.86, 0.9)
ROD_WIDTH_RATIO = 8e-3  # relative to the reach of the arm
CLEAN_UP_TIME_S = 1.0  # duration of the deletion of markers of other publishers


class _DrawnState(NamedTuple):
    """Arguments of `DisplayOutputs.show`."""

    stamp: int
    q: np.ndarray
    epoch: int
    base_pose: np.ndarray | None
    contact_wrenches: Mapping[str, np.ndarray]


class DisplayOutputs:
    """Publishers of `display_joint_states`, `tf` and `bending_markers`."""

    def __init__(
        self, node: Node, arm: ArmModel, tool: str, settings: OutputSettings | BridgeOutputSettings
    ) -> None:
        """Make the publishers; the path of the link `tool` is drawn."""
        self._arm, self._tool = arm, arm.frames[tool]
        self._state: _DrawnState | None = None
        self._base = arm.description.links[0].name
        self._joints = DisplayJoints(arm)
        self._rods = [
            loop for loop in arm.closed_loops.values() if loop.constraint.kind == 'distance'
        ]
        self._joint_states = JointStateBuffer(self._joints.names, ('position',))
        self._reach, self._posture = reach(arm.description), Posture(arm)
        self._path = ToolPath(MAX_PATH_POINTS, PATH_SPACING_RATIO * self._reach)
        self._epoch, self._subscribers, self._arrays_left_to_clean = 0, 0, 0
        self._contacts = ContactMarkers(arm)
        self._set_scale(settings)
        self._base_transform = BaseTransform(node, arm) if is_base_shown(arm.description) else None
        self._joint_publisher = advertise(node, topics.DISPLAY_JOINT_STATES)
        self._marker_publisher = advertise(node, topics.BENDING_MARKERS)
        self._timer = make_timer(node, 1.0 / settings.display_rate, self._draw)

    def change(self, settings: OutputSettings | BridgeOutputSettings) -> None:
        """Apply OutputSettings whose live fields have changed."""
        self._timer.timer_period_ns = round(1e9 / settings.display_rate)
        self._set_scale(settings)

    def has_marker_subscribers(self) -> bool:
        """Whether any node listens to the markers."""
        return self._marker_publisher.get_subscription_count() > 0

    def show(
        self,
        stamp: int,
        q: np.ndarray,
        epoch: int = 0,
        base_pose: np.ndarray | None = None,
        contact_wrenches: Mapping[str, np.ndarray] = MappingProxyType({}),
    ) -> None:
        """
        Draw the coordinates (n,) next time, with a stamp [ns]; any thread may call this.

        :param epoch: a new number marks a discontinuity such as a reset: the tool path is cleared.
        :param base_pose: (7,) of a free or moved base.
        :param contact_wrenches: moment and force (6,) of contacts by name, each on its link and in
            the frame of this link [N m, N].
        """
        self._state = _DrawnState(stamp, q, epoch, base_pose, contact_wrenches)

    def _set_scale(self, settings):
        scale = settings.strain_scale or None
        self._surfaces = link_surfaces(self._arm, scale)
        self._colours = [ColorRGBA(r=r, g=g, b=b, a=a) for r, g, b, a in colour_ramp(64).tolist()]
        skipped = {surface.link for surface in self._surfaces}
        self._shape = BendingShape(self._arm, full_scale=scale, skipped=skipped)
        self._arrays_to_clean_up = max(1, round(CLEAN_UP_TIME_S * settings.display_rate))
        self._markers = self._new_markers()

    def _new_markers(self):
        """Return a marker that deletes all others, then those of the links and the path."""
        markers = []
        for link in self._shape.links:
            for k in range(link.pieces.stop - link.pieces.start):
                markers.append(self._marker(link.link, k, SHAPES[link.shape], link.link))
        for surface in self._surfaces:
            marker = self._marker(surface.link, 0, Marker.TRIANGLE_LIST, surface.link)
            marker.scale.x = marker.scale.y = marker.scale.z = 1.0
            marker.pose.orientation.w = 1.0
            markers.append(marker)
        for loop in self._rods:
            rod = self._marker(loop.constraint.name, 0, Marker.LINE_STRIP, loop.constraint.parent)
            rod.scale.x = ROD_WIDTH_RATIO * self._reach
            rod.color = ColorRGBA(**dict(zip('rgba', (*ROD_COLOUR, 1.0))))
            rod.pose.orientation.w = 1.0
            markers.append(rod)
        path = self._marker('tool path', 0, Marker.LINE_STRIP, self._base)
        path.scale.x = PATH_WIDTH_RATIO * self._reach
        path.color = ColorRGBA(**dict(zip('rgba', PATH_COLOUR)))
        path.pose.orientation.w = 1.0
        delete_all = self._marker('', 0, 0, self._base)
        delete_all.action = Marker.DELETEALL
        return [delete_all, *markers, *self._contacts.all, path]

    def _marker(self, namespace, number, kind, frame):
        marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD, frame_locked=True)
        marker.header.frame_id = frame
        return marker

    def _draw(self):
        if self._state is None:
            return
        stamp, q, epoch, base_pose, contact_wrenches = self._state
        if self._joint_publisher.get_subscription_count():
            self._joint_publisher.publish(
                self._joint_states.fill(stamp, self._joints.positions(q))
            )
        if self._base_transform is not None and base_pose is not None:
            self._base_transform.send(stamp, base_pose)
        self._update_path(q, epoch)
        subscribers = self._marker_publisher.get_subscription_count()
        if subscribers > self._subscribers:
            self._arrays_left_to_clean = self._arrays_to_clean_up
        self._subscribers = subscribers
        if subscribers:
            self._fill_markers(stamp, q)
            self._contacts.fill(stamp, self._posture, contact_wrenches)
            # a new subscriber may still show another robot; the first array may get lost
            self._marker_publisher.publish(
                MarkerArray(markers=self._markers[self._arrays_left_to_clean == 0 :])
            )
            self._arrays_left_to_clean = max(0, self._arrays_left_to_clean - 1)

    def _update_path(self, q, epoch):
        if epoch != self._epoch:
            self._epoch = epoch
            self._path.clear()
        self._posture.take(q)
        self._path.add(self._posture.frame(self._tool)[1])

    def _fill_markers(self, stamp, q):
        bent = self._shape.bent(q, in_links=True)
        delete_all, *pieces, path = self._markers
        pieces, rods = pieces[: len(bent.position)], pieces[len(bent.position) :]
        surfaces, rods = rods[: len(self._surfaces)], rods[len(self._surfaces) :]
        rows = zip(
            pieces, bent.position, bent.orientation.tolist(), bent.scale, bent.rgba.tolist()
        )
        for marker, position, quaternion, scale, rgba in rows:
            set_stamp(marker.header.stamp, stamp)
            set_vector(marker.pose.position, position)
            orientation, colour = marker.pose.orientation, marker.color
            orientation.x, orientation.y, orientation.z, orientation.w = quaternion
            set_vector(marker.scale, scale)
            colour.r, colour.g, colour.b, colour.a = rgba
        for marker, loop in zip(rods, self._rods):
            R, p = self._posture.frame(self._arm.frames[loop.constraint.parent])
            ends = [R.T @ (self._posture.frame(end)[1] - p) for end in (loop.parent, loop.child)]
            marker.points = [Point(x=x, y=y, z=z) for x, y, z in np.array(ends).tolist()]
        for marker, surface in zip(surfaces, self._surfaces):
            self._fill_surface(marker, surface, q)
        for marker in (delete_all, *surfaces, *rods, path):
            set_stamp(marker.header.stamp, stamp)
        points = self._path.points.tolist()
        # some versions of rviz report an error for a line of one point
        path.action = Marker.ADD if len(points) > 1 else Marker.DELETE
        path.points = [Point(x=x, y=y, z=z) for x, y, z in points]

    def _fill_surface(self, marker, surface, q):
        corners = surface.deformed(q)[surface.triangles].reshape(-1, 3)
        marker.points = [Point(x=x, y=y, z=z) for x, y, z in corners.tolist()]
        last = len(self._colours) - 1
        rows = np.minimum(surface.load(q) * last, last).astype(int)
        marker.colors = [self._colours[row] for row in np.repeat(rows, 3).tolist()]
