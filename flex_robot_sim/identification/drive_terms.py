"""
Terms of the drives of a bench: torque constants, and the static torque of cables (I25).

They change the efforts that drive the model. The angle of a cable is the measured one.
"""

from collections.abc import Sequence as Rows

import numpy as np

from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.identification.unknown import Unknown

DRIVE_KINDS = 'torque_constant', 'cable'
CABLE_TORQUE, CABLE_STIFFNESS = 'cable_torque', 'cable_stiffness'


def driven(sequence: Sequence, unknowns: Rows[Unknown], z: np.ndarray) -> Sequence:
    """Return a sequence with the efforts (I25) that act on the joints."""
    terms = [(unknown, x) for unknown, x in zip(unknowns, z) if unknown.kind in DRIVE_KINDS]
    if not terms:
        return sequence
    efforts = sequence.efforts.copy()
    for unknown, x in terms:
        if unknown.kind == 'torque_constant':
            joints = slice(None) if unknown.source < 0 else unknown.source
            efforts[:, joints] *= unknown.value(x)
    for unknown, x in terms:
        j, value = unknown.source, unknown.value(x)
        if unknown.path.endswith(f'.{CABLE_TORQUE}'):
            efforts[:, j] -= value
        elif unknown.path.endswith(f'.{CABLE_STIFFNESS}'):
            efforts[:, j] -= value * sequence.positions[:, j]
    return sequence._replace(efforts=efforts)
