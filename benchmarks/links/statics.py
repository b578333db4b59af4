"""Deflections and buckling loads of spatial beams, compared with published values and Prandtl."""

import numpy as np
from spatial_arms import cantilever, upper_triangle

import flex_robot_sim as frs
from benchmarks.limits import Row

SHAPES = 'count="8" segments="8"'
WEAK, GJ = 1.0, 0.8  # of a strip of 1 m, 5000 times as stiff in its plane [N m2]
PRANDTL = 4.0126 * np.sqrt(WEAK * GJ)  # load of the strip [N]
SPATIAL = ((1, 10, 0.05), (2, 8, 0.02), (4, 8, 0.02))  # segments, coordinates of each, limit
STRAIGHT = ((1, 9, 0.02), (2, 6, 0.02), (4, 6, 0.02))  # the same with default shapes
SEARCHED = 8  # halvings of an interval of 20 % of the load


def rows(quick):
    """Yield the Rows of this module."""
    yield _pretwisted()
    yield _composite()
    yield _bend()
    for segments, count, limit in SPATIAL[: 1 if quick else None]:
        yield _buckling(segments, count, limit, f'count="{count}"', ' twist="0"')
    for segments, count, limit in STRAIGHT[: 1 if quick else None]:
        yield _buckling(segments, count, limit)


def _pretwisted():
    # Wang et al. 2017, BeamDyn; stiffness and load over 1000
    C = upper_triangle(
        np.diag([2.5e7, 8.2604167e6, 8.2604167e6, 141872.656, 520833.0, 130208.333])
    )
    sections = ''.join(
        f'<section at="{at}" stiffness="{C}" twist="{at * np.pi / 2!r}"/>' for at in (0.0, 1.0)
    )
    text, force = cantilever(sections, (10, 0, 0), SHAPES), (0, 0, -4000.0)
    error = _error(text, force, [-1.1415260, -1.7180533, -3.5932132])
    return Row('tip of a pretwisted beam, BeamDyn', error, 1e-3, 'relative')


def _composite():
    # Wang et al. 2017; lb and inch
    C = 1e3 * np.diag([1368.17, 88.56, 38.78, 16.96, 59.12, 141.47])
    C[3, 4], C[3, 5], C[4, 5] = 17610.0, -351.0, -370.0
    text = cantilever(f'<section stiffness="{upper_triangle(C)}"/>', (10, 0, 0), SHAPES)
    error = _error(text, (0, 0, 150.0), [-0.0902727, -0.0647488, 1.2297365])
    return Row('tip of a composite beam, BeamDyn', error, 1e-3, 'relative')


def _bend():
    # Bathe and Bolourchi 1979, middle of the published ranges
    angle, E = np.linspace(0.0, np.pi / 4, 9), 1e7
    points = 100 * np.stack([np.sin(angle), 1 - np.cos(angle), 0 * angle], axis=1)
    shear = f'kGAy="{E / 2 * 5 / 6}" kGAz="{E / 2 * 5 / 6}"'
    section = f'<section EIy="{E / 12}" EIz="{E / 12}" GJ="{E / 12}" EA="{E}" {shear}/>'
    text = cantilever(section, points[-1], SHAPES, points)
    error = _error(text, (0, 0, 600.0), [-23.575, -13.59, 53.465])
    return Row('tip of a bend of 45 degrees, 8 segments', error, 5e-3, 'relative')


def _error(text, force, expected):
    """Distance of the displacement of the tip from a published one, over its size."""
    arm = frs.load(text, gravity=(0, 0, 0))
    straight = frs.pose(arm, np.zeros(arm.size), link='tip')[:3, 3]
    rest = frs.equilibrium(arm, pushes=[frs.Push('tip', force=force)])
    found = frs.pose(arm, rest.q, link='tip')[:3, 3] - straight
    return np.linalg.norm(found - np.array(expected)) / np.linalg.norm(expected)


def _buckling(segments, count, limit, modes='', spatial=''):
    section = f'<section EIy="5000" EIz="{WEAK}" GJ="{GJ}" EA="1e6"{spatial}/>'
    modes = f'{modes} segments="{segments}"'
    arm = frs.load(cantilever(section, (1, 0, 0), modes), gravity=(0, 0, 0))
    assert arm.nq == segments * count
    low, high = 0.9 * PRANDTL, 1.1 * PRANDTL
    for _ in range(SEARCHED):
        middle = (low + high) / 2
        low, high = (middle, high) if _is_stable(arm, middle) else (low, middle)
    beam = 'spatial beam' if spatial else 'straight beam'
    words = f'lateral buckling of a {beam}, {segments} x {count} coordinates'
    return Row(f'{words}, Prandtl', abs(high / PRANDTL - 1), limit, 'relative')


def _is_stable(arm, load):
    push = frs.Push('tip', force=(0, 0, -load))
    try:
        rest = frs.equilibrium(arm, pushes=[push])
    except frs.SettingError:  # no stable equilibrium
        return False
    K = frs.inverse_dynamics_derivatives(arm, rest.q, pushes=[push]).dtau_dq
    return np.linalg.eigvalsh((K + K.T) / 2)[0] > 0.0
