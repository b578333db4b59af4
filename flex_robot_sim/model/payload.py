"""Payloads: rigid bodies attached to links of an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description import bodies
from flex_robot_sim.model.arguments import array_or_nan, expect_arm, is_known
from flex_robot_sim.model.arm_model import ArmModel, Payload
from flex_robot_sim.spatial.screws import set_body_inertia
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.read_only import make_read_only


def make_payload(
    arm: ArmModel,
    link: str,
    mass: float,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
) -> Payload:
    """Return the Payload of a link, as for `with_payload`; SettingError if it is impossible."""
    frame = arm.frames[link]
    I = np.zeros((3, 3)) if inertia is None else array_or_nan(inertia)
    r, m = array_or_nan(centre), array_or_nan(mass)
    if (
        m.shape != ()
        or r.shape != (3,)
        or I.shape != (3, 3)
        or not np.isfinite([m, *r, *I.flat]).all()
        or m < 0
        or np.abs(I - I.T).max() > bodies.ROUNDING_TOLERANCE * np.abs(I).max()
    ):
        raise SettingError(
            f'payload of "{link}" needs a mass >= 0 [kg], a centre (3,) [m] and a '
            'symmetric inertia (3, 3) [kg m2], all finite'
        )
    I = (I + I.T) / 2  # removes rounding errors of a rotation
    reason = bodies.impossibility(float(m), I, bodies.IDENTIFICATION_TOLERANCE)
    if reason:
        raise SettingError(f'no payload of "{link}" has this inertia [kg m2]: it {reason}')
    added = np.empty((6, 6))
    set_body_inertia(float(m), frame.R @ r + frame.p, frame.R @ I @ frame.R.T, added)
    return Payload(link, float(m), r, I, frame.body, added)


def expect_payload_link(arm: ArmModel, link: str) -> None:
    """Raise SettingError if the arm has no such link, or if the link is fixed to the base."""
    if not is_known(link, arm.frames):
        raise SettingError(f'no link "{link}". Known: {", ".join(arm.frames)}')
    if arm.frames[link].body < 0:
        raise SettingError(f'link "{link}" is fixed to the base and carries no payload')


def inertias_with_payloads(arm: ArmModel, payloads: Mapping[str, Payload]) -> np.ndarray:
    """Return the inertias of the bodies of an arm (i, 6, 6) with its payloads, by link."""
    inertias = arm.arrays.inertia.copy()
    for payload in payloads.values():
        inertias[payload.body] += payload.added
    return inertias


def with_payload(
    arm: ArmModel,
    link: str,
    mass: float,
    *,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
) -> ArmModel:
    """
    Return a copy of the arm with an additional body fixed to a link.

    :param link: to which the body is fixed; mass: of the body [kg].
    :param centre: of mass in the link frame, (3,) [m]; inertia: about it, in the axes of the
        link, (3, 3) [kg m2]; default: a point mass.

    Example::

        arm = frs.load('two_link')
        loaded = frs.with_payload(arm, 'tool', 0.2, centre=(0.0, 0.0, 0.03))
        assert frs.frequencies(loaded)[0] < frs.frequencies(arm)[0]
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    if not is_known(link, arm.frames) or arm.frames[link].body < 0:
        moving = [name for name, frame in arm.frames.items() if frame.body >= 0]
        raise SettingError(f'no link "{link}" that carries a payload. Known: {", ".join(moving)}')
    payload = make_payload(arm, link, mass, centre, inertia)
    make_read_only(payload)
    return replace(
        arm,
        payloads=(*arm.payloads, payload),
        arrays=arm.arrays._replace(inertia=inertias_with_payloads(arm, {link: payload})),
    )
