"""An arm on a page: its solids, its bent links, and deflections larger than life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.turns import quaternions, rotation
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.viewer.geometry import CYLINDER, UNIT_BOX
from flex_robot_sim.viewer.solids import GREY, Seats, Solid

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Page

GHOST = (0.55, 0.58, 0.62), 0.28        # colour and opacity of the arm if it were rigid


class Enlarger:
    """
    Makes deflections larger than they are.

    Enlarged, they are drawn without the shortening that goes with them: it grows with their square
    and would soon eat up the link.
    """

    def __init__(self, arm: ArmModel) -> None:
        """Take `arm` (ArmModel) with n coordinates."""
        self.arm = arm
        self.linear = arm if arm.coupling == 'zero_order' else build_arm(
            arm.description, 'zero_order', arm.arrays.base_acceleration[3:] * -1.0)
        self._joints, self._motors = len(arm.joint_names), driven(arm)

    def enlarged(self, q: np.ndarray, factor: float) -> np.ndarray:
        """Return coordinates (n,) with deflections of links and joints times `factor`."""
        q = np.array(q, float)
        motors, size = q[self._motors], self._joints
        q[size + len(self.arm.motor_names):] *= factor
        q[:size] = motors + factor * (q[:size] - motors)
        return q

    def rigid(self, q: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of the arm if nothing gave."""
        return self.enlarged(q, 0.0)


class ArmPicture:
    """One drawing of an arm; a page may have several."""

    def __init__(self, page: Page, enlarger: Enlarger, drawn: Sequence[Solid], name: str,
                 style: tuple[tuple[float, float, float], float] | None = None) -> None:
        """
        Draw it, at first in its zero pose.

        :param drawn: the Solids of the arm; name: of the drawing, as '/arm'.
        :param style: colour and opacity of an arm whose links do not bend; None: its own colours,
            and those of strain.
        """
        self._page, self._name, self._enlarger = page, name, enlarger
        self._seats = seats = Seats(enlarger.arm, bends=style is None)
        if style:
            # what stands still would only tint what it covers
            drawn = [solid for solid in (*drawn, *straight_links(enlarger.arm))
                     if seats.of(solid.link)[0].body >= 0]
        self._shapes = {is_linear: BendingShape(arm) for is_linear, arm in (
            (False, enlarger.arm), (True, enlarger.linear))}
        page.frame(name)
        groups = _grouped(self._seats, drawn, style[0] if style else None)
        rows = [*dict.fromkeys(seat for seat, _, _ in groups)]
        self._movers = {seat: page.frame(f'{name}/{k}') for k, seat in enumerate(rows)}
        for k, ((seat, colour, is_smooth), (vertices, faces)) in enumerate(groups.items()):
            page.solid(f'{name}/{rows.index(seat)}/{k}', vertices, faces, colour,
                       style[1] if style else None, is_smooth)
        self._pieces = []
        for shape in ('box', 'cylinder'):
            parts = [np.arange(link.pieces.start, link.pieces.stop)
                     for link in self._shapes[False].links if link.shape == shape]
            if parts and not style:
                found = np.concatenate(parts)
                self._pieces.append((found, page.pieces(f'{name}/{shape}', shape, len(found))))
        self._last: tuple[float, ...] = ()
        self.draw(np.zeros(enlarger.arm.size))

    def draw(self, q: np.ndarray, factor: float = 1.0) -> None:
        """Draw the arm at coordinates (n,), deflections times `factor`; colours are true."""
        key = *np.asarray(q, float).tolist(), factor
        if key == self._last:
            return
        self._last, is_linear = key, factor != 1.0
        drawn = self._enlarger.enlarged(q, factor) if is_linear else np.asarray(q, float)
        shape = self._shapes[is_linear]
        if self._pieces:
            bent = shape.bent(drawn)
            colours = self._shapes[False].bent(q).rgba if is_linear else bent.rgba
            for rows, change in self._pieces:
                change(bent.position[rows], bent.orientation[rows], bent.scale[rows],
                       colours[rows])
        else:
            shape.posture.take(drawn)
        poses = [self._seats.seat(seat, shape.posture) for seat in self._movers]
        if poses:
            turns = quaternions(np.array([R for R, _ in poses]))
            for move, (_, p), turn in zip(self._movers.values(), poses, turns):
                move(p, turn)

    def pose(self, link: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a link as it was drawn last."""
        is_linear = self._last[-1] != 1.0
        return self._seats.pose(link, self._shapes[is_linear].posture)

    def show(self, is_shown: bool) -> None:
        """Show it, or hide it."""
        self._page.show(self._name, is_shown)


def straight_links(arm: ArmModel) -> list[Solid]:
    """Return the flexible links of an ArmModel as Solids that do not bend."""
    shape = BendingShape(arm, pieces=1)
    bent, found = shape.bent(np.zeros(arm.size), in_links=True), []
    for link in shape.links:
        vertices, faces = UNIT_BOX if link.shape == 'box' else CYLINDER
        for k in range(link.pieces.start, link.pieces.stop):
            turn = rotation(bent.orientation[k])
            found.append(Solid(link.link, vertices * bent.scale[k] @ turn.T + bent.position[k],
                               faces, GREY, False))
    return found


def _grouped(seats, drawn, colour):
    """Triangles {(Seat, colour, is_smooth): (vertices, faces)}: one body is sent for many."""
    groups = {}
    for solid in drawn:
        seat, R, p = seats.of(solid.link)
        groups.setdefault((seat, colour or solid.colour, solid.is_smooth), []).append(
            (solid.vertices @ R.T + p, solid.faces))
    merged = {}
    for key, parts in groups.items():
        firsts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
        merged[key] = (np.concatenate([vertices for vertices, _ in parts]),
                       np.concatenate([faces + first for first, (_, faces) in
                                       zip(firsts, parts)]))
    return merged
