"""
Cross-sections of the beams of an arm, sampled once: where they are and how the modes move them.

This is description data for the formulations: shapes of `elastic/` at chosen places, no dynamics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic import SETBACK_POINTS
from flex_robot_sim.formulations.turning import turn

if TYPE_CHECKING:
    from flex_robot_sim.elastic import Beam
    from flex_robot_sim.model.arm_model import ArmModel


class Sections(NamedTuple):
    """Sections of one beam with n coordinates e; k of them."""

    x: np.ndarray           # (k,)       along the beam                         [m]
    Phi: np.ndarray         # (k, 3, n)  displacement by coordinate
    Theta: np.ndarray       # (k, 3, n)  turn by coordinate
    H: np.ndarray           # (k, n, n)  shortening, u = -1/2 e^T H e           [1/m]
    slopes: np.ndarray      # (k, p, 2, n)  v', w' at a few places before each section, where
    share: np.ndarray       # (k, p)     such a slope s sets it back by s (s.s) times this  [m]


class Section(NamedTuple):
    """One displaced section, in the frame of the root of its beam."""

    d: np.ndarray           # (3,)    where it is                               [m]
    D: np.ndarray           # (3, n)  rate of d by rate of e
    rate: np.ndarray        # (3,)    rate of d                                 [m/s]
    rest: np.ndarray        # (3,)    second rate of d without that of e        [m/s2]
    R: np.ndarray           # (3, 3)  its turn
    T: np.ndarray           # (3, n)  angular velocity by rate of e
    turning: np.ndarray     # (3,)    angular velocity                          [rad/s]
    turning_rest: np.ndarray  # (3,)  its rate without second rates of e        [rad/s2]


def sample(beam: Beam, x: ArrayLike, coupling: str, carries: bool = False) -> Sections:
    """
    Return the Sections of a Beam at stations x (k,) [m].

    :param carries: whether they carry something, so that those of segments are set back (T10).
    """
    x = np.asarray(x, float)
    H = np.zeros((x.size, beam.size, beam.size))
    if coupling == 'shortening':
        H += beam.shortening(x)
    slopes, share = np.zeros((x.size, 0, 2, beam.size)), np.zeros((x.size, 0))
    if carries and beam.is_segment and coupling == 'shortening':
        nodes, weights = np.polynomial.legendre.leggauss(SETBACK_POINTS)
        places = np.outer(x, (1 + nodes) / 2)
        turns = beam.turn(places.ravel()).reshape(*places.shape, 3, beam.size)
        slopes = np.stack([turns[:, :, 2], -turns[:, :, 1]], axis=2)
        share = np.outer(x, weights / 12)
    return Sections(x, beam.shape(x), beam.turn(x), H, slopes, share)


def carried_sections(arm: ArmModel) -> dict[int, Sections]:
    """Return {body: Sections with one section}, for each body that rides on a beam."""
    arrays = arm.arrays
    return {i: sample(arm.beams[arrays.parent[i]], arrays.station_x[s:s + 1], arm.coupling, True)
            for i, s in enumerate(arrays.station) if s >= 0}


def displaced(sections: Sections, e: np.ndarray, de: np.ndarray
              ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places (k, 3), their gradients (k, 3, n) and what is left of their second rates (k, 3)."""
    He, Hde = sections.H @ e, sections.H @ de
    d = sections.Phi @ e
    d[:, 0] += sections.x - 0.5 * He @ e
    D = sections.Phi.copy()
    D[:, 0] -= He
    rest = np.zeros_like(d)
    rest[:, 0] = -Hde @ de
    if sections.share.size:
        slope, rate = sections.slopes @ e, sections.slopes @ de
        square = (slope**2).sum(axis=-1)
        along = np.einsum('kpa,kpan->kpn', slope, sections.slopes)
        twice = 2 * sections.share
        d[:, 1:] -= np.einsum('kp,kpa->ka', sections.share * square, slope)
        D[:, 1:] -= (np.einsum('kp,kpan->kan', sections.share * square, sections.slopes)
                     + np.einsum('kp,kpa,kpn->kan', twice, slope, along))
        rest[:, 1:] -= (np.einsum('kp,kpa->ka', twice * (rate**2).sum(axis=-1), slope)
                        + np.einsum('kp,kpa->ka', 2 * twice * (along @ de), rate))
    return d, D, rest


def carrying(sections: Sections, e: np.ndarray, de: np.ndarray, turns: bool = True) -> Section:
    """
    Return the only Section of `sections`, which carries another body.

    :param turns: whether it turns; if not, it only shifts, as in the wrench-DAE paper.
    """
    d, D, rest = displaced(sections, e, de)
    if turns:
        Theta = sections.Theta[0]
        rate = Theta @ de
        R, J, dJ = turn(Theta @ e, rate)
        T, turning, turning_rest = J @ Theta, J @ rate, dJ @ rate
    else:
        R, T, turning, turning_rest = np.eye(3), np.zeros_like(D[0]), np.zeros(3), np.zeros(3)
    return Section(d[0], D[0], D[0] @ de, rest[0], R, T, turning, turning_rest)
