"""
Points that go so deep into a surface that they may come out on its other side.

The force of a contact is that of a touch. A point beyond the middle of a thin obstacle is pushed
out on the far side, and one with too little stiffness falls through the ground. The depth that is
reported begins before the middle, and no substep is long enough to pass this range unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arm_model import ArmModel

MAX_ADVANCE = 0.9  # of the limit of depth; the range beyond the limit is at least as wide as it


def depth_limits(arm: ArmModel) -> np.ndarray:
    """
    Depth (g,) [m] of each point up to the middle of its shape, or of the surface.

    The centre of the point is then at most half way from the surface to the middle of what it
    touches, so that a corner of a box is reported on its way, too.
    """
    return np.array(
        [
            min(
                shape.half_thickness, surface.half_thickness, radius + 0.5 * surface.half_thickness
            )
            for contact in arm.description.contacts
            for shape in contact.shapes
            for _, radius in shape.points()
            for surface in contact.surfaces
        ]
    )


@compiled
def substep_within_depth(substep, shortest, watch, work):
    """Halve a substep [s] until no point advances beyond its gap by more than its limit."""
    for g in range(watch.depth.size):
        way = max(work.contact_start[g], 0.0) + MAX_ADVANCE * watch.depth[g]
        while -work.contact_start_gap_rate[g] * substep > way and substep > shortest:
            substep *= 0.5
    return substep


@compiled
def note_penetration(step, watch, work):
    """Record in watch.pierced the first step with a point beyond its limit, and the point."""
    for g in range(watch.depth.size):
        if watch.pierced[0] < 0 and work.contact_gap[g] < -watch.depth[g]:
            watch.pierced[0], watch.pierced[1] = step, g


def penetration_line(arm: ArmModel, watch: Any, time_of: Callable[[int], float]) -> str:
    """Return the line to report for the point in watch.pierced."""
    step, point = watch.pierced
    name = next(name for name, rows in arm.contacts.items() if rows.start <= point < rows.stop)
    number = int(point) - arm.contacts[name].start
    surface = arm.description.contact(name).pairs()[number][2].name
    return (
        f'contact "{name}" is more than {watch.depth[point]:.3g} m inside "{surface}" at '
        f'{time_of(step):.4g} s: it may come out on the other side. Begin outside, or give the '
        'contact a higher stiffness [N/m]'
    )
