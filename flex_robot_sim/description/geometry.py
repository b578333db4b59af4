"""
Shapes of rigid bodies and cross-sections of beams, with the masses that follow from density.

Names and fields of the cross-sections are the words of `<flexibility>`; see words.py.
"""

from collections.abc import Sequence
from math import pi
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.elastic.section import Outline, rectangle, rod, tube
from flex_robot_sim.elastic.section_profile import SectionProfile, slender_moments


class Box(NamedTuple):
    """
    Solid box, centred in its frame.

    Example::

        builder = frs.ArmBuilder().add_rigid('tool', shape=frs.Box(0.1, 0.05, 0.02), mass=0.3)
    """

    x: float  # edge lengths  [m]
    y: float
    z: float

    @property
    def volume(self) -> float:
        """Volume [m3]."""
        return self.x * self.y * self.z

    @property
    def gyration(self) -> np.ndarray:
        """Moments of inertia about x, y, z through the centre over the mass, (3,) [m2]."""
        x, y, z = self.x**2, self.y**2, self.z**2
        return np.array([y + z, x + z, x + y]) / 12


class Cylinder(NamedTuple):
    """
    Solid cylinder, centred in its frame, its axis along z.

    Example::

        builder = frs.ArmBuilder().add_rigid(
            'motor', shape=frs.Cylinder(radius=0.03, length=0.05), density=7850)
    """

    radius: float  # [m]
    length: float  # [m]

    @property
    def volume(self) -> float:
        """Volume [m3]."""
        return pi * self.radius**2 * self.length

    @property
    def gyration(self) -> np.ndarray:
        """Moments of inertia about x, y, z through the centre over the mass, (3,) [m2]."""
        across = self.radius**2 / 4 + self.length**2 / 12
        return np.array([across, across, self.radius**2 / 2])


class Sphere(NamedTuple):
    """
    Solid sphere.

    Example::

        builder = frs.ArmBuilder().add_rigid('ball', shape=frs.Sphere(0.02), density=7850)
    """

    radius: float  # [m]

    @property
    def volume(self) -> float:
        """Volume [m3]."""
        return 4 / 3 * pi * self.radius**3

    @property
    def gyration(self) -> np.ndarray:
        """Moments of inertia about x, y, z through the centre over the mass, (3,) [m2]."""
        return np.full(3, 2 / 5 * self.radius**2)


class Capsule(NamedTuple):
    """
    Solid cylinder with a half sphere on both ends, centred in its frame, its axis along z.

    Example::

        builder = frs.ArmBuilder().add_rigid(
            'arm', shape=frs.Capsule(radius=0.03, length=0.2), density=1200)
    """

    radius: float  # of the cylinder and the half spheres  [m]
    length: float  # of the cylinder                       [m]

    @property
    def volume(self) -> float:
        """Volume [m3]."""
        return pi * self.radius**2 * (self.length + 4 / 3 * self.radius)

    @property
    def gyration(self) -> np.ndarray:
        """Moments of inertia about x, y, z through the centre over the mass, (3,) [m2]."""
        r, length = self.radius, self.length
        share = length / (length + 4 / 3 * r)  # of the cylinder in the mass
        spheres = 2 / 5 * r**2
        # the centre of a half sphere is 3/8 r beyond the end of the cylinder
        across = spheres + length**2 / 4 + 3 / 8 * length * r
        cylinder = Cylinder(r, length).gyration
        return share * cylinder + (1 - share) * np.array([across, across, spheres])


class Rectangle(NamedTuple):
    """
    Solid rectangular cross-section of a beam.

    Example::

        builder = frs.ArmBuilder().add_beam(
            'arm', length=0.5, section=frs.Rectangle(width=0.003, height=0.03),
            material='steel')
    """

    width: float  # along the y axis of the section   [m]
    height: float  # along its z axis                  [m]
    twist: float | None = None  # pretwist about the axis of the beam  [rad]

    @property
    def outline(self) -> Outline:
        """Area, second moments and torsion constant."""
        return rectangle(self.width, self.height)

    @property
    def size(self) -> tuple[float, float]:
        """Outer size along y and z [m]."""
        return self.width, self.height


class Tube(NamedTuple):
    """
    Round hollow cross-section of a beam.

    Example::

        builder = frs.ArmBuilder().add_beam(
            'arm', length=0.5, section=frs.Tube(outer=0.03, wall=0.002), material='aluminium')
    """

    outer: float  # outer diameter                            [m]
    wall: float  # its thickness, at most half the diameter  [m]

    @property
    def outline(self) -> Outline:
        """Area, second moments and torsion constant."""
        return tube(self.outer, self.wall)

    @property
    def size(self) -> tuple[float, float]:
        """Outer size along y and z [m]."""
        return self.outer, self.outer


class Rod(NamedTuple):
    """
    Round solid cross-section of a beam.

    Example::

        builder = frs.ArmBuilder().add_beam(
            'arm', length=0.5, section=frs.Rod(diameter=0.01), material='steel')
    """

    diameter: float  # [m]

    @property
    def outline(self) -> Outline:
        """Area, second moments and torsion constant."""
        return rod(self.diameter)

    @property
    def size(self) -> tuple[float, float]:
        """Outer size along y and z [m]."""
        return self.diameter, self.diameter


class SectionStiffness(NamedTuple):
    """
    Stiffnesses of the cross-section of a beam; each elastic direction needs one.

    Example::

        builder = frs.ArmBuilder().add_beam(
            'arm', length=0.5, section=frs.SectionStiffness(EIz=12.0), mass=0.2,
            bending_z=0, torsion=0)
    """

    EIy: float | None = None  # about y: resists bending_z    [N m2]
    EIz: float | None = None  # about z: resists bending_y    [N m2]
    GJ: float | None = None  # torsion                       [N m2]
    EA: float | None = None  # stretch                       [N]
    kGAy: float | None = None  # shear along y; None: rigid      [N]
    kGAz: float | None = None  # shear along z                   [N]
    mass_per_length: float | None = None  # of a station, up to a common factor  [kg/m]
    twist: float | None = None  # pretwist about the axis of the beam  [rad]


class CompositeSection(NamedTuple):
    """
    Stiffness and mass matrices of the cross-section of a beam, as VABS and BeamDyn have them.

    Rows are axial force, shear along y and z, torsion, bending about y and z; (6, 6), or the 21
    numbers of the upper triangle, by rows.

    Example::

        stiffness = np.diag([1e7, 3e6, 3e6, 900.0, 1500.0, 1500.0])  # EA kGAy kGAz GJ EIy EIz
        stiffness[3, 4] = stiffness[4, 3] = 200.0                    # bending twists the tube
        builder = frs.ArmBuilder().add_beam(
            'arm', length=0.5, section=frs.CompositeSection(stiffness), mass=0.4)
    """

    stiffness: ArrayLike  # [N, N m, N m2]
    mass: ArrayLike | None = None  # per length; None: `mass` of the beam, evenly  [kg/m, kg, kg m]
    twist: float | None = None  # pretwist about the axis of the beam  [rad]


class Material(NamedTuple):
    """
    Elastic moduli and density of a beam.

    With a `shear_factor` k, its sections shear with the stiffness k G A.

    Example::

        cfrp = frs.Material(E=1.1e11, G=5e9, density=1600)
        builder = frs.ArmBuilder().add_beam(
            'arm', length=0.5, section=frs.Tube(outer=0.03, wall=0.001), material=cfrp)
    """

    E: float  # Young's modulus                       [Pa]
    G: float | None = None  # shear modulus; torsion needs it       [Pa]
    density: float | None = None  # without it, the beam needs a mass     [kg/m3]
    shear_factor: float | None = None  # None: rigid in shear


# typical values of structural alloys: EN AW-6060, S235, Ti-6Al-4V
MATERIALS = {
    'aluminium': Material(7.0e10, 2.6e10, 2700.0),
    'steel': Material(2.1e11, 8.0e10, 7850.0),
    'titanium': Material(1.14e11, 4.3e10, 4430.0),
}

Shape: TypeAlias = Box | Cylinder | Sphere | Capsule
SolidSection: TypeAlias = Rectangle | Tube | Rod
# of a uniform beam, or pairs (share of the length, section)
BeamSections: TypeAlias = (
    SolidSection
    | SectionStiffness
    | CompositeSection
    | Sequence[tuple[float, SolidSection | SectionStiffness | CompositeSection]]
)


def polar_moments(outline: Outline, mass: float, length: float) -> np.ndarray:
    """Moments of inertia of a unit of length about x, y, z, of a homogeneous beam (3,) [kg m]."""
    area, Iy, Iz, _ = outline
    return mass / (area * length) * np.array([Iy + Iz, Iy, Iz])


def beam_inertia(
    mass: float,
    length: float,
    section_inertia: Sequence[float] | np.ndarray,
    profile: SectionProfile | None = None,
) -> np.ndarray:
    """
    Moments of inertia of a straight beam about its centre of mass, along its axes (3,) [kg m2].

    :param section_inertia: of a unit of length about x, y, z, (3,) [kg m].
    :param profile: of a section that varies; None: uniform.
    """
    across = mass * length**2 / slender_moments(profile)[1] * np.array([0, 1, 1])
    return np.asarray(section_inertia) * length + across
