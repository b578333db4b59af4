"""Animation data of a page: each solid once, and its pose in every frame."""

import base64
from typing import Any

import numpy as np

from flex_robot_sim.display.bending import BendingShape
from flex_robot_sim.display.colours import colour_ramp
from flex_robot_sim.display.extent import middle, reach
from flex_robot_sim.display.posture import Posture
from flex_robot_sim.reports.energies import coordinates, instants, moved_base
from flex_robot_sim.reports.recorded_run import RecordedRun
from flex_robot_sim.spatial.turns import quaternion
from flex_robot_sim.viewer.solids import Attachments, solids

FRAME_RATE_HZ, MAX_FRAMES = 30.0, 1800  # frames per second; frames altogether
PIECES_PER_LINK = 12  # of a drawn flexible link
MAX_FACES = 4000  # of all solids: a page draws each face separately
INT16_MAX = 32767  # largest signed 16-bit integer


def motion_of(run: RecordedRun) -> dict[str, Any] | None:
    """
    Return the animation as JSON values; None if the robot or its states are unknown.

    A solid that cannot be drawn adds a note to the run. Positions are 16-bit integers in units of
    `unit` [m]; quaternions are 16-bit integers over INT16_MAX.
    """
    arm = run.arm
    if arm is None:
        return None
    time = instants(run, MAX_FRAMES, FRAME_RATE_HZ)
    state = coordinates(run, arm, time)
    if state is None or not len(time):
        return None
    shown_solids, warnings = solids(arm)
    run.notes += [line for line in dict.fromkeys(warnings) if line not in run.notes]
    shown_solids = _limit_faces(shown_solids)
    movers = list(dict.fromkeys(solid.link for solid in shown_solids))
    posture = Posture(arm)
    attachments = Attachments(arm)
    shape = BendingShape(arm, PIECES_PER_LINK)
    straight = shape.bent(np.zeros(arm.size))
    tool = arm.frames[arm.tool]
    mover_poses, axes, loads, tip_positions = [], [], [], []
    bases = moved_base(run, arm, time)
    for k, q in enumerate(state[0]):
        if bases is not None:
            for one in (posture, shape.posture):
                one.place_base(bases[k, :7])
        posture.take(q)
        for mover in movers:
            R, p = attachments.pose(mover, posture)
            mover_poses.append((*p, *quaternion(R)))
        tip_positions.append(posture.frame(tool)[1])
        bending = shape.bent(q)
        axes.append(bending.axis)
        loads.append(np.minimum(bending.load, 1.0))
    size = reach(arm.description)
    if arm.has_free_base or bases is not None:
        size += float(np.linalg.norm(np.ptp(run.base.values[:, :3], axis=0)))
    length_unit = 1.5 * size / INT16_MAX
    poses = np.array(mover_poses).reshape(len(time), len(movers), 7)
    return {
        'time': np.round(time, 4).tolist(),
        'unit': length_unit,
        'reach': size,
        'middle': middle(arm).tolist(),
        'solids': [
            {
                'mover': movers.index(solid.link),
                'colour': _hex(solid.colour),
                'vertices': _encode_int16(solid.vertices, length_unit),
                'faces': np.asarray(solid.faces).ravel().tolist(),
            }
            for solid in shown_solids
        ],
        'movers': len(movers),
        'links': [
            {
                'nodes': [link.nodes.start, link.nodes.stop],
                'pieces': [link.pieces.start, link.pieces.stop],
                'width': float(np.mean(np.sort(straight.scale[link.pieces.start])[:2])),
            }
            for link in shape.links
        ],
        'nodes': len(axes[0]),
        'pieces': len(loads[0]),
        'places': _encode_int16(poses[:, :, :3], length_unit),
        'turns': _encode_int16(poses[:, :, 3:], 1 / INT16_MAX),
        'axes': _encode_int16(np.array(axes), length_unit),
        'loads': _encode_int16(np.array(loads), 1 / INT16_MAX),
        'tips': _encode_int16(np.array(tip_positions), length_unit),
        'colours': [_hex(colour) for colour in colour_ramp(24)],
    }


def _limit_faces(shown_solids):
    """Remove the solids with most faces until MAX_FACES remain; keep the order of the others."""
    remaining = list(shown_solids)
    while sum(len(solid.faces) for solid in remaining) > MAX_FACES:
        remaining.remove(max(remaining, key=lambda solid: len(solid.faces)))
    return remaining


def _encode_int16(values, unit):
    """Return values in `unit` as little-endian 16-bit integers in base64."""
    integers = np.clip(np.round(np.asarray(values, float) / unit), -INT16_MAX, INT16_MAX).astype(
        '<i2'
    )
    return base64.b64encode(integers.tobytes()).decode()


def _hex(colour):
    return '#' + ''.join(
        f'{round(255 * min(max(float(part), 0.0), 1.0)):02x}' for part in colour[:3]
    )
