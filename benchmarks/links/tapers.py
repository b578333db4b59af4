"""
Natural frequencies of tapers and of beams that shear, compared with closed forms.

The references are roots of Bessel functions and of Timoshenko's characteristic equation, by mpmath
with 25 digits.
"""

import mpmath as mp
import numpy as np

import flex_robot_sim as frs
from benchmarks.limits import Row

E, DENSITY = 7e10, 2700.0
LENGTH = 70.0  # so long that rotary inertia does not matter [m]
POINT = 1e-8  # of the size at the root: a point
MANY = 8  # coordinates of a plane
EXACT, BY_DEFAULT = 1e-6, 1e-3  # limits
FREQUENCIES = 2
SQUAT = 0.08  # height over length of the beam that shears
SHEAR = 0.3 * E  # shear factor times shear modulus [Pa]


def rows(quick):
    """Yield the Rows of this module."""
    cases = [(kind, tip) for kind in ('wedge', 'cone') for tip in (POINT, 0.5)]
    for kind, tip in cases[:1] if quick else cases:
        words = kind if tip == POINT else f'{kind} cut at half its length'
        exact = _bessel_roots(1 if kind == 'wedge' else 2, tip)
        yield from _compared(words, _taper(kind, tip), exact, quick)
    if not quick:
        yield from _compared('Timoshenko beam', _squat_beam, _timoshenko_roots(), quick)


def _compared(words, make, exact, quick):
    choices = ((MANY, EXACT, f'{MANY} coordinates'), (None, BY_DEFAULT, 'default'))
    for count, limit, how in choices[: 1 if quick else None]:
        found = make(count)
        error = max(abs(one / float(root) - 1) for one, root in zip(found, exact, strict=True))
        yield Row(f'{words}, {FREQUENCIES} frequencies, {how}', error, limit, 'relative')


def _taper(kind, tip):
    """Function of the coordinates that returns frequencies in units of the root section."""
    size = 0.02
    section = {
        'wedge': lambda s: frs.Rectangle(0.05, s * size),
        'cone': lambda s: frs.Rod(s * size),
    }
    unit = np.sqrt(E / DENSITY) * size / np.sqrt(12 if kind == 'wedge' else 16) / LENGTH**2

    def frequencies(count):
        sections = [(0.0, section[kind](1.0)), (1.0, section[kind](tip))]
        return _frequencies(sections, LENGTH, count) / unit

    return frequencies


def _squat_beam(count):
    width, length = 0.05, 1.0
    area, moment = width * SQUAT, width * SQUAT**3 / 12
    stiff = 1e3 * E * moment  # in other directions
    section = frs.SectionStiffness(E * moment, stiff, stiff, E * area, kGAz=SHEAR * area)
    rotary = DENSITY * moment * np.array([1.0, 1.0, 0.0])
    mass = DENSITY * area * length
    unit = np.sqrt(E / DENSITY) * SQUAT / np.sqrt(12) / length**2
    return _frequencies(section, length, count, mass=mass, section_inertia=rotary) / unit


def _frequencies(section, length, count, **options):
    """Return the first angular frequencies of a clamped beam in its plane xz [rad/s]."""
    if count is not None:
        options['bending_z'] = count
    if 'mass' not in options:
        options['material'] = frs.Material(E=E, G=E / 2.6, density=DENSITY)
    builder = frs.ArmBuilder('clamped')
    builder.add_beam('beam', length=length, section=section, bending_y=0, torsion=0, **options)
    builder.add_joint('clamp', parent='base', child='beam', type='fixed')
    arm = builder.build(gravity=(0, 0, 0))
    return 2 * np.pi * frs.modes(arm, np.zeros(arm.size)).frequencies[:FREQUENCIES]


def _bessel_roots(power, tip):
    """
    Frequencies of a beam whose mass falls as x^power, and whose stiffness falls as x^(power + 2).

    From the thick end x = 1 to `tip`. Kirchhoff (1879): the deflections are x^(-power / 2) times
    Bessel functions of the order `power` of 2 sqrt(w x).
    """
    kinds = ((mp.besselj, -1, 1), (mp.bessely, -1, 1), (mp.besseli, 1, 1), (mp.besselk, -1, -1))

    def fields(x, w):
        """Rows of deflection, slope, moment and shear force of the four solutions at x."""
        z, root = 2 * mp.sqrt(w * x), mp.sqrt(w)
        columns = [
            (
                f(power, z) / x ** mp.mpf(power / 2),
                up * root * f(power + 1, z) / x ** mp.mpf((power + 1) / 2),
                w * f(power + 2, z) * x ** mp.mpf((power + 2) / 2),
                down * w * root * f(power + 1, z) * x ** mp.mpf((power + 1) / 2),
            )
            for f, up, down in kinds
        ]
        return [list(row) for row in zip(*columns)]

    def pointed(w):
        # without the solutions that are singular at the point
        deflection, slope, _, _ = fields(mp.mpf(1), w)
        return deflection[0] * slope[2] - deflection[2] * slope[0]

    def cut(w):
        return mp.det(mp.matrix(fields(mp.mpf(1), w)[:2] + fields(mp.mpf(tip), w)[2:]))

    if tip == POINT:
        return _roots(pointed, 1.0, 0.5)
    # the length is that of the beam without the part that is cut off
    return [root * (1 - tip) ** 2 for root in _roots(cut, 2.0, 2.0)]


def _timoshenko_roots():
    """Roots for a clamped beam that shears, with rotary inertia, in units of the slender beam."""
    rotary = mp.mpf(SQUAT) ** 2 / 12
    shear = mp.mpf(SHEAR) / mp.mpf(E) / rotary  # over E I / L^2

    def determinant(w):
        # rates along x of deflection, turn, moment and shear force
        A = mp.matrix(4, 4)
        A[0, 1], A[0, 3], A[1, 2] = 1, 1 / shear, 1
        A[2, 1], A[2, 3], A[3, 0] = -(w**2) * rotary, -1, -(w**2)
        state = mp.expm(A)
        return state[2, 2] * state[3, 3] - state[2, 3] * state[3, 2]

    return _roots(determinant, 1.0, 1.0)


def _roots(function, start, step):
    """First roots of a function beyond `start`, by its changes of sign."""
    found: list[mp.mpf] = []
    low = mp.mpf(start)
    with mp.workdps(25):
        last = function(low)
        while len(found) < FREQUENCIES:
            high = low + step
            value = function(high)
            if last * value < 0:
                found.append(mp.findroot(function, (low, high), solver='anderson'))
            low, last = high, value
    return found
