"""The arm in motion as a page draws it: shapes once, and where they are in every frame."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.colours import colour_ramp
from flex_robot_sim.display.extent import middle, reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.display.turns import quaternion
from flex_robot_sim.reports.energies import coordinates, instants
from flex_robot_sim.viewer.solids import Seats, solids

if TYPE_CHECKING:
    from flex_robot_sim.reports.recorded_run import RecordedRun

RATE, MOST = 30.0, 1800     # frames in a second, and altogether
PIECES = 12                 # of a bent link
MOST_FACES = 4000           # of all solids: a page draws them one by one
FULL = 32767                # of 16 bits


def motion_of(run: RecordedRun) -> dict[str, Any] | None:
    """
    Return what the page draws, as JSON; None where the robot or its states are not known.

    What cannot be drawn gets a note of the run. Places are whole numbers of 16 bits, in units of
    `unit` [m], rotations those over FULL.
    """
    arm = run.arm
    if arm is None:
        return None
    time = instants(run, MOST, RATE)
    state = coordinates(run, arm, time)
    if state is None or not len(time):
        return None
    drawn, problems = solids(arm)
    run.notes += [line for line in dict.fromkeys(problems) if line not in run.notes]
    drawn = _few_faces(drawn)
    movers = list(dict.fromkeys(solid.link for solid in drawn))
    posture, seats, shape = Posture(arm), Seats(arm), BendingShape(arm, PIECES)
    still = shape.bent(np.zeros(arm.size))
    tool = arm.frames[arm.tool]
    places, axes, loads, tips = [], [], [], []
    for q in state[0]:
        posture.take(q)
        for mover in movers:
            R, p = seats.pose(mover, posture)
            places.append((*p, *quaternion(R)))
        tips.append(posture.frame(tool)[1])
        bent = shape.bent(q)
        axes.append(bent.axis)
        loads.append(np.minimum(bent.load, 1.0))
    size = reach(arm.description)
    unit = 1.5 * size / FULL
    poses = np.array(places).reshape(len(time), len(movers), 7)
    return {
        'time': np.round(time, 4).tolist(), 'unit': unit, 'reach': size,
        'middle': middle(arm).tolist(),
        'solids': [{'mover': movers.index(solid.link), 'colour': _hex(solid.colour),
                    'vertices': _whole(solid.vertices, unit),
                    'faces': np.asarray(solid.faces).ravel().tolist()} for solid in drawn],
        'movers': len(movers),
        'links': [{'nodes': [link.nodes.start, link.nodes.stop],
                   'pieces': [link.pieces.start, link.pieces.stop],
                   'width': float(np.mean(np.sort(still.scale[link.pieces.start])[:2]))}
                  for link in shape.links],
        'nodes': len(axes[0]), 'pieces': len(loads[0]),
        'places': _whole(poses[:, :, :3], unit), 'turns': _whole(poses[:, :, 3:], 1 / FULL),
        'axes': _whole(np.array(axes), unit), 'loads': _whole(np.array(loads), 1 / FULL),
        'tips': _whole(np.array(tips), unit),
        'colours': [_hex(colour) for colour in colour_ramp(24)]}


def _few_faces(drawn):
    """Solids in their order as long as there are not too many faces; the finest are left out."""
    kept = list(drawn)
    while sum(len(solid.faces) for solid in kept) > MOST_FACES:
        kept.remove(max(kept, key=lambda solid: len(solid.faces)))
    return kept


def _whole(values, unit):
    """Whole numbers of 16 bits, little end first, in base64."""
    whole = np.clip(np.round(np.asarray(values, float) / unit), -FULL, FULL).astype('<i2')
    return base64.b64encode(whole.tobytes()).decode()


def _hex(colour):
    return '#' + ''.join(f'{round(255 * min(max(float(part), 0.0), 1.0)):02x}'
                         for part in colour[:3])
