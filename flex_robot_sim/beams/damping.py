"""Internal damping of a beam: as a fraction of critical in every mode, or as Kelvin and Voigt."""

import numpy as np
from scipy.linalg import block_diag, eigh

from flex_robot_sim.beams.discretise import directions, make_beam
from flex_robot_sim.beams.shapes import matrices


def damping_matrices(pieces, ratio, time, load):
    """
    Damping matrix (n, n) of every piece of a beam [SI per coordinate].

    A beam in one piece gets the `ratio` in every mode that it has with its load. Modes of a beam
    in several pieces belong to no piece alone: there the damping grows with the stiffness, and
    the first mode of every direction has the ratio.

    :param pieces: [Beam], root to tip, of one section and one length.
    :param ratio: fraction of critical damping; time: damping / stiffness [s].
    :param load: Load at the end of the last piece.
    """
    first = pieces[0]
    if len(pieces) == 1:
        blocks = [_modal(*matrices(first.shapes[direction.name], direction), ratio)
                  for direction in directions(first.section, load)
                  if direction.name in first.shapes]
        return [time * first.stiffness + block_diag(*blocks)]
    whole = make_beam(first.length * len(pieces), first.section, dict.fromkeys(first.shapes, 3),
                      load=load)
    factors = np.zeros(len(first.names))
    for direction in directions(first.section, load):
        if direction.name in first.shapes:
            K, M = matrices(whole.shapes[direction.name], direction)
            lowest = np.sqrt(1 / eigh(M, K, eigvals_only=True)[-1])
            factors[first.columns(direction.name)] = time + 2 * ratio / lowest
    return [piece.stiffness * factors for piece in pieces]


def _modal(K, M, ratio):
    """Damping matrix that gives every mode of K and M the same ratio."""
    inverse_squares, shapes = eigh(M, K)        # shapes^T K shapes = 1
    columns = K @ shapes
    # 2 ratio omega per unit of modal mass, which is 1/omega^2 here
    return columns @ np.diag(2 * ratio * np.sqrt(inverse_squares)) @ columns.T
