"""State of a contact: force, gap, and whether it slides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.dynamics.contact.state import STATE_SIZE, set_contact_state
from flex_robot_sim.jit.compiled import call_with_tables
from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.model.arm_model import ArmModel, Frame
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized


@summarized
class ContactState(NamedTuple):
    """
    A contact of a link, in the axes of the base frame; forces are means over the last step.

    With the scheme `reference`, they are those at the end of the step.
    That of a batch has a row per member in each field.

    Example::

        builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
        builder.add_joint('hinge', parent='base', child='arm', axis='y').add_ground(height=-0.2)
        builder.add_contact('tool', link='arm', shape=frs.Sphere(0.02), xyz=(0.4, 0, 0))
        contact = frs.Simulation(builder.build()).contact('tool')
        assert abs(contact.gap - 0.18) < 1e-12 and not contact.force.any()
    """

    force: np.ndarray  # (3,)  on the link                                               [N]
    wrench: np.ndarray  # (6,)  moment and force on it, in its frame                 [N m, N]
    point: np.ndarray  # (3,)  where it acts, or the nearest point                       [m]
    normal_force: float  # sum over the points                                           [N]
    gap: float  # smallest one; negative: the penetration                                [m]
    is_sliding: bool  # whether a point moves, with the largest friction in the last step


def contact_state(simulated: SimulatedArm, name: str) -> ContactState:
    """Return the ContactState of a contact; SettingError if there is none."""
    rows, frame = contact_rows(simulated.arm, name)
    (q, qd, *_), out = simulated.state, np.empty(STATE_SIZE)
    call_with_tables(
        set_contact_state,
        simulated.arrays,
        q,
        qd,
        rows,
        frame.R,
        frame.p,
        out,
        simulated.query_work,
    )
    force, wrench, point, (normal, gap, slides) = np.split(out, (3, 9, 12))
    return ContactState(force, wrench, point, float(normal), float(gap), bool(slides))


def contact_rows(arm: ArmModel, name: str) -> tuple[np.ndarray, Frame]:
    """Return the rows and the body of a contact, see `set_contact_state`, and its link's frame."""
    if not is_known(name, arm.contacts):
        raise SettingError(f'no contact "{name}". Known: {", ".join(arm.contacts) or "none"}')
    frame, rows = arm.frames[arm.description.contact(name).link], arm.contacts[name]
    return np.array([rows.start, rows.stop, frame.body]), frame
