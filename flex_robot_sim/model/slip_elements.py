"""
Maxwell-slip elements of gears and of friction: their tables, from the numbers of a joint.

A joint has two rows, GEAR and FRICTION, of ELEMENTS elements in parallel. An element is a spring
that slips at a largest deflection; dynamics/joint_laws/maxwell_slip.py has the law.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from flex_robot_sim.description.words import MAX_SLIP_ELEMENTS

if TYPE_CHECKING:
    from flex_robot_sim.description.links import Joint

GEAR, FRICTION = range(2)
ELEMENTS = MAX_SLIP_ELEMENTS
SlipTable: TypeAlias = Annotated[np.ndarray, 2, ELEMENTS]

# An element of the stiffness k that slips at s times the amplitude A loses 4 k s (1 - s) A^2 in a
# cycle, where the spring of the stiffness K has the energy K A^2 / 2. With equal k and limits in
# the ratio SPACING, the mean of the sum over all log(A) is 4 / ln(SPACING) times k / K.
SPACING = 4.0
GEAR_LIMITS = 0.5 * SPACING ** -np.arange(ELEMENTS)  # over the twist at the largest effort
GEAR_STIFFNESS = np.log(SPACING) / 4  # of an element over the gear's, for a loss of one

# dry friction rises as the elements slip one after the other, each with an equal force
FRICTION_LIMITS = np.arange(1, ELEMENTS + 1) / ELEMENTS  # over the presliding displacement


def slip_tables(joints: Iterable[Joint]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return stiffnesses and largest deflections of all elements, (joints, 2, ELEMENTS) each.

    The stiffnesses of friction are relative to the dry friction at rest [1/rad, 1/m].
    """
    joints = list(joints)
    stiffness = np.zeros((len(joints), 2, ELEMENTS))
    limit = np.zeros_like(stiffness)
    for j, joint in enumerate(joints):
        if joint.hysteresis > 0.0 and np.isfinite(joint.stiffness):
            stiffness[j, GEAR] = GEAR_STIFFNESS * joint.hysteresis * joint.stiffness
            limit[j, GEAR] = GEAR_LIMITS * joint.effort / joint.stiffness
        for e, (spring, force) in enumerate(joint.slip):
            stiffness[j, GEAR, e], limit[j, GEAR, e] = spring, force / spring
        if joint.friction.presliding > 0.0:
            limit[j, FRICTION] = FRICTION_LIMITS * joint.friction.presliding
            stiffness[j, FRICTION] = 1.0 / (ELEMENTS * limit[j, FRICTION])
    return stiffness, limit


def remembered(stiffness: np.ndarray) -> int:
    """Return the number of elements that the workspace of a simulation needs for each joint."""
    return ELEMENTS if stiffness.any() else 0
