"""Elements common to all pages: floor, camera, legend, ghost, gravity, trace, scale."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.display.bending import FULL_COLOUR_DEFLECTION
from flex_robot_sim.display.colours import ROD_COLOUR, colour_ramp
from flex_robot_sim.display.extent import middle, reach
from flex_robot_sim.display.rviz_layout import GRID_CELL, round_length
from flex_robot_sim.display.tool_path import ToolPath
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import as_html
from flex_robot_sim.viewer.arm_picture import GHOST_STYLE, ArmPicture, DeflectionScaler
from flex_robot_sim.viewer.contact_picture import ContactPicture
from flex_robot_sim.viewer.solids import solids

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

CAMERA_DISTANCE = 2.0  # in reaches
CAMERA_DIRECTION = np.array([0.9, -1.0, 0.55])
TRACE_POINTS, TRACE_SPACING = 300, 4e-3  # of the tip; spacing in reaches
TRACE_COLOUR, GRAVITY_COLOUR = (0.20, 0.60, 0.86), (0.45, 0.35, 0.75)
MAX_SCALE = 50  # of deflections


class ArmStage:
    """An arm on a page, with camera and display options."""

    def __init__(self, page: Page, arm: ArmModel) -> None:
        self.page, self.arm, self.reach = page, arm, reach(arm.description)
        self.scaler, (self.solids, warnings) = DeflectionScaler(arm), solids(arm)
        self.factor, self.tool = 1.0, arm.tool
        self._ghost_is_shown = bool(self.arm.tips or arm.motor_names)
        self._path = ToolPath(TRACE_POINTS, TRACE_SPACING * self.reach)
        page.grid(round_length(GRID_CELL * self.reach / 2), 3 * self.reach)
        page.set_camera(middle(arm), CAMERA_DISTANCE * self.reach, CAMERA_DIRECTION)
        self._picture = ArmPicture(page, self.scaler, self.solids, '/arm')
        self._ghost = ArmPicture(page, self.scaler, self.solids, '/ghost', GHOST_STYLE)
        self._ghost.show(self._ghost_is_shown)
        self._contacts = ContactPicture(page, arm, self._picture) if arm.contacts else None
        self._trace = page.line('/trace', TRACE_COLOUR)
        self._rods = [
            (page.line(f'/rods/{k}', ROD_COLOUR), loop.parent, loop.child)
            for k, loop in enumerate(arm.closed_loops.values())
            if loop.constraint.kind == 'distance'  # a rod without a link
        ]
        self._factor_label = page.label('/factor', np.array([0.0, 0.0, -0.12 * self.reach]))
        self._draw_gravity()
        self.status = page.text()
        page.text(legend(bool(arm.tips)))
        self._list_warnings(warnings)
        with page.folder('Picture'):
            self._factor_control = page.slider(
                'deflections x',
                1,
                MAX_SCALE,
                1,
                1,
                self._set_scale,
                'Scale of the drawn deflections; colours show the true strain',
            )
            page.checkbox(
                'rigid ghost',
                self._ghost_is_shown,
                self._show_ghost,
                'The arm without deflections',
            )
            self._shows_trace = page.checkbox(
                'tip trace', True, lambda _: self.clear_trace(), f'Where "{self.tool}" has been'
            )
            if self._contacts is not None:
                page.checkbox(
                    'contact shapes',
                    True,
                    self._contacts.show_shapes,
                    'Shapes of links that may touch the ground, obstacles and other links',
                )
            page.checkbox('dark', False, page.set_dark)

    def place_base(self, pose: np.ndarray) -> None:
        """Draw the arm on a base with a pose (7,)."""
        for picture in (self._picture, self._ghost):
            picture.place_base(pose)

    def draw(
        self,
        q: np.ndarray,
        is_traced: bool = True,
        contact_wrenches: Mapping[str, np.ndarray] = MappingProxyType({}),
    ) -> None:
        """
        Draw the arm at coordinates (n,).

        :param contact_wrenches: moment and force (6,) of contacts by name, each on its link and
            in the frame of this link [N m, N].
        """
        self._picture.draw(q, self.factor)
        if self._contacts is not None:
            self._contacts.draw(contact_wrenches)
        for change, *ends in self._rods:
            change(np.array([self._picture.frame_pose(end)[1] for end in ends]))
        if self._ghost_is_shown:
            self._ghost.draw(self.scaler.scaled(q, 0.0))
        if is_traced and self._shows_trace.value and self._path.add(self.pose(self.tool)[1]):
            self._trace(self._path.points)

    def pose(self, link: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and origin (3,) [m] of a link in the last drawing."""
        return self._picture.pose(link)

    def clear_trace(self) -> None:
        """Clear the trace of the tip."""
        self._path.clear()
        self._trace(self._path.points)

    def _set_scale(self, factor):
        self.factor = float(factor)
        self._factor_label(f'deflections x {factor:g}' if factor != 1 else '')
        self.clear_trace()

    def _show_ghost(self, is_shown):
        self._ghost_is_shown = is_shown
        self._ghost.show(is_shown)

    def _list_warnings(self, warnings):
        """List meshes that are not drawn, each once, in the panel and in the log."""
        warnings = [*dict.fromkeys(warnings)]
        for line in warnings:
            logging.getLogger(__name__).warning('%s', line)
        if warnings:
            with self.page.folder(
                f'{len(warnings)} meshes are not drawn'
                if len(warnings) > 1
                else 'A mesh is not drawn'
            ):
                self.page.text('<br>'.join(map(as_html, warnings)))

    def _draw_gravity(self):
        gravity = -self.arm.arrays.base_acceleration[3:]
        size = np.linalg.norm(gravity)
        if size == 0.0:
            return
        foot = np.array([-0.45, 0.45, 0.55]) * self.reach
        length = 0.2 * self.reach
        self.page.arrow('/gravity', GRAVITY_COLOUR, length)(foot, foot + length * gravity / size)
        self.page.label('/gravity_word', foot + 0.05 * length)(f'{size:.3g} m/s2')


def legend(is_flexible: bool) -> str:
    """Return the legend of the colours as HTML."""
    if not is_flexible:
        return 'no flexible link'
    stops = ', '.join(
        'rgb({:.0f} {:.0f} {:.0f})'.format(*(255 * colour[:3])) for colour in colour_ramp(9)
    )
    return (
        f'<div style="height:0.7em;border-radius:3px;background:linear-gradient(to right, '
        f'{stops})"></div><div style="display:flex;justify-content:space-between">'
        f'<span>straight</span><span>surface strain</span><span>full</span></div>'
        f'<div style="opacity:0.65">full: as at the root of a link whose tip a force moves by '
        f'{FULL_COLOUR_DEFLECTION:.0%} of its length</div>'
    )


def table(rows: dict[str, str]) -> str:
    """Return an HTML table of labels and values."""
    return (
        '<table>'
        + ''.join(
            f'<tr><td style="padding-right:0.8em;opacity:0.65">{as_html(name)}</td>'
            f'<td>{as_html(value)}</td></tr>'
            for name, value in rows.items()
        )
        + '</table>'
    )
