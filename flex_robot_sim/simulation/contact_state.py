"""State of a contact of a simulation: force, gap, and whether it slides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.dynamics.contact.instant import set_contact_motion
from flex_robot_sim.jit.compiled import call_with_tables
from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

SLIDING_RATE = 1e-6  # of a pressed point, below which it is at rest                     [m/s]
SLIDING_SHARE = 0.99  # of the largest friction, below which a point sticks or rolls


@summarized
class ContactState(NamedTuple):
    """
    A contact of a link, in the axes of the base frame; forces are means of the last step.

    Example::

        sim = frs.Simulation(frs.load('polishing_arm'))
        contact = sim.contact('tool')
        assert contact.gap > 0.0 and not contact.force.any()
    """

    force: np.ndarray  # (3,)  on the link                                               [N]
    wrench: np.ndarray  # (6,)  moment and force on it, in its frame                 [N m, N]
    point: np.ndarray  # (3,)  where it acts, or the nearest point                       [m]
    normal_force: float  # sum over the points                                           [N]
    gap: float  # smallest one; negative: the penetration                                [m]
    is_sliding: bool  # whether a point moves, with the largest friction in the last step


def contact_state(simulated: SimulatedArm, name: str) -> ContactState:
    """Return the ContactState of a contact; SettingError if there is none."""
    arm, work = simulated.arm, simulated.query_work
    if not is_known(name, arm.contacts):
        raise SettingError(f'no contact "{name}". Known: {", ".join(arm.contacts) or "none"}')
    rows, (q, qd, *_) = arm.contacts[name], simulated.state
    call_with_tables(set_contact_motion, simulated.arrays, q, qd, work)
    parts, gaps = simulated.work.contact_force[rows].copy(), work.contact_gap[rows].copy()
    places, pressed = work.contact_at[rows], parts[:, 0]
    forces = np.einsum('gr,grk->gk', parts, work.contact_axes[rows])
    body, R, p = arm.frames[arm.description.contact(name).link]
    if body >= 0:
        R, p = work.base_R[body] @ R, work.base_R[body] @ p + work.base_p[body]
    moment = np.cross(places - p, forces).sum(axis=0)
    force = forces.sum(axis=0)
    point = places[np.argmin(gaps)].copy()
    if pressed.sum() > 0.0:
        point = pressed @ places / pressed.sum()
    rates = work.contact_rate.reshape(-1, 3)[rows, 1:]
    largest = SLIDING_SHARE * simulated.arrays.contact_friction[rows] * pressed
    slides = (np.hypot(*parts[:, 1:].T) >= largest) & (np.hypot(*rates.T) > SLIDING_RATE)
    is_sliding = bool(slides[pressed > 0.0].any())
    wrench = np.concatenate([R.T @ moment, R.T @ force])
    return ContactState(force, wrench, point, float(pressed.sum()), float(gaps.min()), is_sliding)
