"""An arm on a page: its solids, its bent links, and deflections larger than life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.core.assembly import build_arm
from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.viewer.solids import Seats

if TYPE_CHECKING:
    from flex_robot_sim.core.model import ArmModel
    from flex_robot_sim.viewer.browser import Page
    from flex_robot_sim.viewer.solids import Solid

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
            arm.description, 'zero_order', arm.arrays.rising[3:] * -1.0)
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
        :param style: colour and opacity of everything; None: its own colours, and those of strain.
        """
        self._page, self._name, self._enlarger, self._style = page, name, enlarger, style
        self._seats = Seats(enlarger.arm)
        self._postures = {is_linear: Posture(arm) for is_linear, arm in (
            (False, enlarger.arm), (True, enlarger.linear))}
        self._shapes = {is_linear: BendingShape(arm) for is_linear, arm in (
            (False, enlarger.arm), (True, enlarger.linear))}
        opacity = style[1] if style else None
        page.frame(name)
        self._movers = {link: page.frame(f'{name}/{k}') for k, link in enumerate(
            dict.fromkeys(solid.link for solid in drawn))}
        row = {link: k for k, link in enumerate(self._movers)}
        for k, solid in enumerate(drawn):
            page.solid(f'{name}/{row[solid.link]}/{k}', solid.vertices, solid.faces,
                       style[0] if style else solid.colour, opacity, solid.is_smooth)
        self._pieces = []
        for shape in ('box', 'cylinder'):
            rows = [np.arange(link.pieces.start, link.pieces.stop)
                    for link in self._shapes[False].links if link.shape == shape]
            if rows:
                found = np.concatenate(rows)
                self._pieces.append((found, page.pieces(f'{name}/{shape}', shape, len(found),
                                                        opacity)))
        self._last: tuple[float, ...] = ()
        self.draw(np.zeros(enlarger.arm.size))

    def draw(self, q: np.ndarray, factor: float = 1.0) -> None:
        """Draw the arm at coordinates (n,), deflections times `factor`; colours are true."""
        key = *np.asarray(q, float).tolist(), factor
        if key == self._last:
            return
        self._last, is_linear = key, factor != 1.0
        drawn = self._enlarger.enlarged(q, factor) if is_linear else np.asarray(q, float)
        posture, shape = self._postures[is_linear], self._shapes[is_linear]
        posture.take(drawn)
        poses = [self._seats.pose(link, posture) for link in self._movers]
        if poses:
            # all at once: each call takes a tenth of a millisecond
            turns = Rotation.from_matrix(np.array([R for R, _ in poses])).as_quat()
            for move, (_, p), turn in zip(self._movers.values(), poses, turns):
                move(p, turn)
        if not self._pieces:
            return
        bent = shape.bent(drawn)
        colours = (np.tile(self._style[0], (len(bent.load), 1)) if self._style
                   else shape.bent(q).rgba if is_linear else bent.rgba)
        for rows, change in self._pieces:
            change(bent.position[rows], bent.orientation[rows], bent.scale[rows], colours[rows])

    def point(self, link: str) -> np.ndarray:
        """Where the origin of a link was drawn last (3,) [m]."""
        is_linear = self._last[-1] != 1.0
        return self._seats.pose(link, self._postures[is_linear])[1]

    def show(self, is_shown: bool) -> None:
        """Show it, or hide it."""
        self._page.show(self._name, is_shown)

