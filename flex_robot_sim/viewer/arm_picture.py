"""Drawing of an arm on a page: solids, flexible links, and scaled deflections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.colours import colour_ramp
from flex_robot_sim.display.reduced_surface import link_surfaces
from flex_robot_sim.display.visuals import MAX_PART_LENGTH
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.model.body_kinds import SLIDING
from flex_robot_sim.model.slide_columns import LENGTH, OFFSET
from flex_robot_sim.spatial.turns import quaternions, rotation
from flex_robot_sim.viewer.geometry import CYLINDER, UNIT_BOX
from flex_robot_sim.viewer.solids import DEFAULT_COLOUR, Attachments, Solid

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

SURFACE_COLOURS = colour_ramp(16)  # of triangles of reduced links
SHAPED_PIECES = 20  # of a curved, twisted or tapered link that does not bend
GHOST_STYLE = (0.55, 0.58, 0.62), 0.28  # colour and opacity of the rigid arm


class DeflectionScaler:
    """
    Scales deflections for the drawing.

    Scaled deflections are drawn without the shortening of links, which grows with their square.
    """

    def __init__(self, arm: ArmModel) -> None:
        self.arm = self.linear = arm
        if arm.coupling != 'zero_order':
            arrays = arm.arrays
            second = 'station_H', 'station_setback', 'station_Q', 'slide_H', 'slide_tip_H'
            zeros = {name: np.zeros_like(getattr(arrays, name)) for name in second}
            self.linear = replace(arm, coupling='zero_order', arrays=arrays._replace(**zeros))

    def scaled(self, q: np.ndarray, factor: float) -> np.ndarray:
        """Return coordinates (n,) with deflections of links and joints times `factor`."""
        q = np.array(q, float)
        arm, motors = self.arm, q[self.arm.motor_q]
        q[arm.elastic_q] *= factor
        q[arm.joint_q] = motors + factor * (q[arm.joint_q] - motors)
        return q


class ArmPicture:
    """One drawing of an arm; a page may have several."""

    def __init__(
        self,
        page: Page,
        scaler: DeflectionScaler,
        drawn_solids: Sequence[Solid],
        name: str,
        style: tuple[tuple[float, float, float], float] | None = None,
    ) -> None:
        """
        Draw the arm in its zero pose.

        :param drawn_solids: the Solids of the arm; name: of the drawing, such as '/arm'.
        :param style: colour and opacity of an arm with rigid links; None: its own colours, and
            colours of strain.
        """
        self._page, self._name, self._scaler = page, name, scaler
        self._attachments = attachments = Attachments(scaler.arm, bends=style is None)
        self._surfaces = link_surfaces(scaler.arm)
        sizes = {one.link: np.ptp(one.points, axis=0).max() for one in self._surfaces}
        # its surface replaces the undeformed mesh of a reduced link; parts mounted on it stay
        drawn_solids = [
            solid
            for solid in drawn_solids
            if not np.ptp(solid.vertices, axis=0).max()
            > MAX_PART_LENGTH * sizes.get(solid.link, np.inf)
        ]
        if style:
            # a translucent fixed part would only tint the arm behind it
            drawn_solids = [
                solid
                for solid in (*drawn_solids, *straight_links(scaler.arm))
                if attachments.attachment_of(solid.link)[0].body >= 0
            ]
        drawn_as_surface = {*sizes}
        self._shapes = {
            is_linear: BendingShape(arm, skipped=drawn_as_surface)
            for is_linear, arm in ((False, scaler.arm), (True, scaler.linear))
        }
        self._move_base = page.frame(name)
        self._base_R, self._base_p = np.eye(3), np.zeros(3)
        groups = _merge_solids(self._attachments, drawn_solids, style[0] if style else None)
        frames = [*dict.fromkeys(attachment for attachment, _, _ in groups)]
        self._movers = {
            attachment: page.frame(f'{name}/{k}') for k, attachment in enumerate(frames)
        }
        for k, ((attachment, colour, is_smooth), (vertices, faces)) in enumerate(groups.items()):
            page.solid(
                f'{name}/{frames.index(attachment)}/{k}',
                vertices,
                faces,
                colour,
                style[1] if style else None,
                is_smooth,
            )
        self._pieces = []
        for shape in ('box', 'cylinder'):
            parts = [
                np.arange(link.pieces.start, link.pieces.stop)
                for link in self._shapes[False].links
                if link.shape == shape
            ]
            if parts and not style:
                indices = np.concatenate(parts)
                self._pieces.append((indices, page.pieces(f'{name}/{shape}', shape, len(indices))))
        self._surface_changes = [
            page.surface(f'{name}/surface {k}', SURFACE_COLOURS)
            for k in range(0 if style else len(self._surfaces))
        ]
        self._drawn_state: tuple[float, ...] = ()
        self.draw(np.zeros(scaler.arm.size))

    def draw(self, q: np.ndarray, factor: float = 1.0) -> None:
        """Draw the arm at coordinates (n,), deflections times `factor`; colours are unscaled."""
        key = *np.asarray(q, float).tolist(), factor
        if key == self._drawn_state:
            return
        self._drawn_state, is_linear = key, factor != 1.0
        scaled_q = self._scaler.scaled(q, factor) if is_linear else np.asarray(q, float)
        shape = self._shapes[is_linear]
        if self._pieces:
            bent = shape.bent(scaled_q)
            colours = self._shapes[False].bent(q).rgba if is_linear else bent.rgba
            for rows, change in self._pieces:
                change(
                    bent.position[rows], bent.orientation[rows], bent.scale[rows], colours[rows]
                )
        else:
            shape.posture.take(scaled_q)
        for surface, change_surface in zip(self._surfaces, self._surface_changes):
            self._draw_surface(surface, change_surface, shape.posture, q, scaled_q)
        poses = [
            self._attachments.pose_of(attachment, shape.posture) for attachment in self._movers
        ]
        if poses:
            turns = quaternions(np.array([R for R, _ in poses]))
            for move, (_, p), turn in zip(self._movers.values(), poses, turns):
                move(p, turn)

    def _draw_surface(self, surface, change, posture, q, scaled_q):
        R, p = posture.base_R[surface.body], posture.base_p[surface.body]
        corners = (surface.deformed(scaled_q) @ R.T + p)[surface.triangles]
        last = len(SURFACE_COLOURS) - 1
        rows = np.minimum(surface.load(np.asarray(q, float)) * last, last).round().astype(int)
        change([corners[rows == row] for row in range(len(SURFACE_COLOURS))])

    def place_base(self, pose: np.ndarray) -> None:
        """Draw the arm on a base with a pose (7,): position [m] and quaternion x y z w."""
        self._base_R, self._base_p = rotation(pose[3:]), pose[:3].copy()
        self._move_base(self._base_p, pose[3:])

    def pose(self, link: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a link in the last drawing."""
        is_linear = self._drawn_state[-1] != 1.0
        R, p = self._attachments.pose(link, self._shapes[is_linear].posture)
        return self._base_R @ R, self._base_R @ p + self._base_p

    def frame_pose(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a Frame of the arm in the last drawing."""
        R, p = self._shapes[self._drawn_state[-1] != 1.0].posture.frame(frame)
        return self._base_R @ R, self._base_R @ p + self._base_p

    def show(self, is_shown: bool) -> None:
        """Show or hide the drawing."""
        self._page.show(self._name, is_shown)


def straight_links(arm: ArmModel) -> list[Solid]:
    """Return the flexible links of an ArmModel as Solids that do not bend."""
    surfaces = link_surfaces(arm)
    links = [
        Solid(surface.link, surface.points, surface.triangles, DEFAULT_COLOUR, False)
        for surface in surfaces
    ]
    drawn = {surface.link for surface in surfaces}
    shaped = {link for link in arm.segments if _has_shape(arm.description.beam(link))} - drawn
    q = _whole_links(arm)
    for pieces, skipped in ((1, drawn | shaped), (SHAPED_PIECES, {*arm.segments} - shaped)):
        links += _straight_pieces(BendingShape(arm, pieces=pieces, skipped=skipped), q)
    return links


def _has_shape(beam):
    """Whether a beam is curved, twisted or tapered, so that one piece does not show it."""
    return beam.axis is not None or bool(beam.twist) or beam.profile is not None


def _straight_pieces(shape, q):
    """Solids of the pieces of a BendingShape at coordinates q (n,), in their links."""
    links = []
    bent = shape.bent(q, in_links=True)
    for link in shape.links:
        vertices, faces = UNIT_BOX if link.shape == 'box' else CYLINDER
        for k in range(link.pieces.start, link.pieces.stop):
            turn = rotation(bent.orientation[k])
            links.append(
                Solid(
                    link.link,
                    vertices * bent.scale[k] @ turn.T + bent.position[k],
                    faces,
                    DEFAULT_COLOUR,
                    False,
                )
            )
    return links


def _whole_links(arm):
    """Coordinates (n,) at which no sliding link is in its guide, and no link bends."""
    q = np.zeros(arm.size)
    for body in np.flatnonzero(arm.arrays.kind == SLIDING):
        data = arm.arrays.slide_data[body]
        q[arm.arrays.slide[body]] = data[LENGTH] - data[OFFSET]
    return q


def _merge_solids(attachments, visible_solids, colour):
    """Merge Solids into {(Attachment, colour, is_smooth): (vertices, faces)}."""
    groups: dict[tuple, list] = {}
    for solid in visible_solids:
        attachment, R, p = attachments.attachment_of(solid.link)
        groups.setdefault((attachment, colour or solid.colour, solid.is_smooth), []).append(
            (solid.vertices @ R.T + p, solid.faces)
        )
    merged = {}
    for key, parts in groups.items():
        offsets = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
        merged[key] = (
            np.concatenate([vertices for vertices, _ in parts]),
            np.concatenate([faces + offset for offset, (_, faces) in zip(offsets, parts)]),
        )
    return merged
