"""
Cross-sections of the beams of an arm: their positions, and their motion by the modes.

They are data for the formulations: the shapes of `elastic/`, sampled at stations; no dynamics.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic import SETBACK_POINTS, Beam
from flex_robot_sim.formulations.turning import rotation_and_jacobian
from flex_robot_sim.model.arm_model import ArmModel


class Sections(NamedTuple):
    """The k sections of one beam with n coordinates e."""

    x: np.ndarray  # (k,)       position along the beam                [m]
    Phi: np.ndarray  # (k, 3, n)  displacement by coordinate
    Theta: np.ndarray  # (k, 3, n)  small rotation by coordinate
    H: np.ndarray  # (k, n, n)  shortening, u = -1/2 e^T H e           [1/m]
    # setback of segments (T10): a slope s moves the section back by weight * s (s.s)
    setback_slopes: np.ndarray  # (k, p, 2, n)  v', w' at p points between root and section
    setback_weights: np.ndarray  # (k, p)                                       [m]


class DisplacedSection(NamedTuple):
    """Motion of one displaced section in the root frame of its beam."""

    d: np.ndarray  # (3,)    position                                  [m]
    D: np.ndarray  # (3, n)  gradient of d by e
    velocity: np.ndarray  # (3,)    rate of d                                 [m/s]
    bias_acceleration: np.ndarray  # (3,)  second rate of d at zero second rates of e  [m/s2]
    R: np.ndarray  # (3, 3)  rotation
    T: np.ndarray  # (3, n)  angular velocity by rate of e
    angular_velocity: np.ndarray  # (3,)                                       [rad/s]
    angular_bias: np.ndarray  # (3,)  its rate at zero second rates of e   [rad/s2]


def sample(beam: Beam, x: ArrayLike, coupling: str, is_attachment: bool = False) -> Sections:
    """
    Return the DisplacedSections of a Beam at stations x (k,) [m].

    :param is_attachment: whether bodies are attached there; segments then have a setback (T10).
    """
    x = np.asarray(x, float)
    H = np.zeros((x.size, beam.size, beam.size))
    if coupling == 'shortening':
        H += beam.shortening(x)
    setback_slopes, setback_weights = np.zeros((x.size, 0, 2, beam.size)), np.zeros((x.size, 0))
    if is_attachment and beam.is_segment and coupling == 'shortening':
        nodes, weights = np.polynomial.legendre.leggauss(SETBACK_POINTS)
        positions = np.outer(x, (1 + nodes) / 2)
        rotations = beam.turn(positions.ravel()).reshape(*positions.shape, 3, beam.size)
        setback_slopes = np.stack([rotations[:, :, 2], -rotations[:, :, 1]], axis=2)
        setback_weights = np.outer(x, weights / 12)
    return Sections(x, beam.shape(x), beam.turn(x), H, setback_slopes, setback_weights)


def sample_attachments(arm: ArmModel) -> dict[int, Sections]:
    """Return {body: Sections with one section} for each body that is attached to a beam."""
    arrays = arm.arrays
    return {
        i: sample(arm.beams[arrays.parent[i]], arrays.station_x[s : s + 1], arm.coupling, True)
        for i, s in enumerate(arrays.station)
        if s >= 0
    }


def displace_sections(
    sections: Sections, e: np.ndarray, de: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Displace Sections by the coordinates e (n,) with rates de.

    :returns: positions (k, 3), gradients by e (k, 3, n) and bias accelerations (k, 3), which are
        the second rates at zero second rates of e.
    """
    He, Hde = sections.H @ e, sections.H @ de
    d = sections.Phi @ e
    d[:, 0] += sections.x - 0.5 * He @ e
    D = sections.Phi.copy()
    D[:, 0] -= He
    bias = np.zeros_like(d)
    bias[:, 0] = -Hde @ de
    if sections.setback_weights.size:
        slope, rate = sections.setback_slopes @ e, sections.setback_slopes @ de
        square = (slope**2).sum(axis=-1)
        slope_product = np.einsum('kpa,kpan->kpn', slope, sections.setback_slopes)
        double_weights = 2 * sections.setback_weights
        d[:, 1:] -= np.einsum('kp,kpa->ka', sections.setback_weights * square, slope)
        D[:, 1:] -= np.einsum(
            'kp,kpan->kan', sections.setback_weights * square, sections.setback_slopes
        ) + np.einsum('kp,kpa,kpn->kan', double_weights, slope, slope_product)
        bias[:, 1:] -= np.einsum(
            'kp,kpa->ka', double_weights * (rate**2).sum(axis=-1), slope
        ) + np.einsum('kp,kpa->ka', 2 * double_weights * (slope_product @ de), rate)
    return d, D, bias


def displace_attachment(
    sections: Sections, e: np.ndarray, de: np.ndarray, rotates: bool = True
) -> DisplacedSection:
    """
    Return the only Section of `sections`, to which another body is attached.

    :param rotates: False: the section is only displaced, as in the wrench-DAE paper.
    """
    d, D, bias = displace_sections(sections, e, de)
    if rotates:
        Theta = sections.Theta[0]
        rate = Theta @ de
        R, J, dJ = rotation_and_jacobian(Theta @ e, rate)
        T, angular_velocity, angular_bias = J @ Theta, J @ rate, dJ @ rate
    else:
        R = np.eye(3)
        T = np.zeros_like(D[0])
        angular_velocity = np.zeros(3)
        angular_bias = np.zeros(3)
    return DisplacedSection(d[0], D[0], D[0] @ de, bias[0], R, T, angular_velocity, angular_bias)
