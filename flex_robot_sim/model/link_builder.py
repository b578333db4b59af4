"""Links of an arm from code: rigid ones, beams, and reduced finite element models."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from numpy.typing import ArrayLike

from flex_robot_sim.description.argument_errors import expect_valid_parts
from flex_robot_sim.description.attribute_text import name_text
from flex_robot_sim.description.beam_link import beam_link
from flex_robot_sim.description.reduced_link_elements import reduced_link
from flex_robot_sim.description.rigid_link import rigid_link
from flex_robot_sim.description.urdf_elements import robot_text
from flex_robot_sim.model.constraint_builder import ZERO
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from flex_robot_sim.description.geometry import BeamSections, Material, Shape

Builder = TypeVar('Builder', bound='LinkBuilder')


class LinkBuilder:
    """Base class of ArmBuilder with its links."""

    _name: str
    _links: dict[str, Element]
    _beams: dict[str, Element]

    def add_rigid(
        self: Builder,
        name: str,
        *,
        shape: Shape | None = None,
        mass: float | None = None,
        density: float | None = None,
        centre: ArrayLike = ZERO,
        rpy: ArrayLike = ZERO,
        inertia: ArrayLike | None = None,
    ) -> Builder:
        """
        Add a rigid link: a shape, a body with given inertia, or a frame without mass.

        :param name: of the link.
        :param shape: Box, Cylinder, Sphere or Capsule: it determines the inertia; viewers draw it.
        :param mass: [kg]; without a shape and an inertia, it is that of a point.
        :param density: of the shape, instead of its mass [kg/m3].
        :param centre: of mass, in the link frame (3,) [m].
        :param rpy: roll, pitch, yaw of the axes of shape and inertia in the link frame [rad].
        :param inertia: about the centre, (3, 3) or its diagonal (3,) [kg m2]; default: that of
            the shape.

        Example::

            builder = frs.ArmBuilder()
            builder.add_rigid('tool', shape=frs.Sphere(0.03), mass=0.4)
            builder.add_rigid('camera', mass=0.1, inertia=(1e-5, 1e-5, 2e-5))
        """
        self._expect_new('link', name, self._links)
        self._links[name] = rigid_link(name, shape, mass, density, centre, rpy, inertia)
        return self

    def add_beam(
        self: Builder,
        name: str,
        *,
        section: BeamSections,
        material: str | Material | None = None,
        length: float | None = None,
        end: ArrayLike | None = None,
        y_axis: str | ArrayLike = 'y',
        mass: float | None = None,
        section_inertia: ArrayLike | None = None,
        bending_y: int | str | None = None,
        bending_z: int | str | None = None,
        torsion: int | str | None = None,
        stretch: int | str | None = None,
        elements: int | None = None,
        segments: int = 1,
        boundary: str | None = None,
        damping_ratio: float | None = None,
        damping_time: float | None = None,
        axis: ArrayLike | None = None,
        twist_coupling: bool | None = None,
        count: int | None = None,
    ) -> Builder:
        """
        Add a flexible link: an elastic beam from the origin of the link to its end.

        :param name: of the link.
        :param section: Rectangle, Tube or Rod, with a material; or SectionStiffness, with a mass;
            or CompositeSection, of matrices; or pairs (at, section) from at = 0 to 1, shares of
            the length, linear in between. With a twist, the beam is a spatial one, see `count`.
        :param material: 'aluminium', 'steel', 'titanium' with typical values, or a Material.
        :param length: along the x axis of the link [m]; or `end`: far end in any direction,
            in the link frame (3,) [m].
        :param y_axis: direction of the y axis of the section: 'x', 'y', 'z' or (3,).
        :param mass: of the beam [kg]; default: by the density of the material, or by mass
            matrices.
        :param section_inertia: moments of inertia per length about x, y, z of the beam,
            (3,) [kg m]; default: those of the solid section, 0 for SectionStiffness.
        :param bending_y, bending_z, torsion, stretch: number of assumed modes (default 2, 2,
            1, 0; more where the section varies or shears, or twist couples), or of finite
            elements' coordinates (default 'all', 'all', 'all', 0).
        :param elements: finite elements per segment; default: assumed modes.
        :param segments: flexible bodies in series, for large deflections.
        :param boundary: of assumed modes: 'static' (default), 'free', 'mass' or 'inertia'.
        :param damping_ratio: of every mode of the arm; or `damping_time`: damping over
            stiffness (Kelvin-Voigt) [s]. Default: no damping.
        :param axis: points of a curved axis from (0, 0, 0) to the end, instead of length and end,
            (k, 3) [m].
        :param twist_coupling: whether bending of a straight beam couples with twist; default: if
            it has shapes in both planes and of torsion, and one EI exceeds 4 times the other.
        :param count: coordinates of a curved beam (default 8), whose shapes combine all
            directions.

        Example::

            frs.ArmBuilder().add_beam('strip', length=0.5, material='steel', torsion=0,
                                      section=frs.Rectangle(width=0.002, height=0.03))
        """
        self._expect_new('link', name, self._links)
        link, beam = beam_link(
            name,
            section,
            material,
            length,
            end,
            y_axis,
            mass,
            section_inertia,
            {
                'bending_y': bending_y,
                'bending_z': bending_z,
                'torsion': torsion,
                'stretch': stretch,
                'count': count,
                'elements': elements,
                'segments': segments,
                'boundary': boundary,
            },
            {'damping_ratio': damping_ratio, 'damping_time': damping_time},
            axis,
            twist_coupling,
        )
        expect_valid_parts(robot_text(self._name, [link], [beam]))
        self._links[name], self._beams[name] = link, beam
        return self

    def add_reduced(
        self: Builder,
        name: str,
        *,
        file: str | Path,
        end: ArrayLike | None = None,
        modes: int | None = None,
        stiffness_scale: float = 1.0,
        damping_ratio: float | None = None,
        damping_time: float | None = None,
    ) -> Builder:
        """
        Add a flexible link of a reduced finite element model, with the mass of its file.

        Its child joints must be where they were when the link was reduced.

        :param name: of the link, as in the file or with a prefix.
        :param file: of `flexsim reduce`.
        :param end: far end, in the link frame (3,) [m]; default: the only station of the file.
        :param modes: number of coordinates; default: all of the file.
        :param stiffness_scale: factor of its stiffness.
        :param damping_ratio: of every mode of the arm; or `damping_time`: damping over
            stiffness (Kelvin-Voigt) [s]. Default: no damping.
        """
        self._expect_new('link', name, self._links)
        link, beam = reduced_link(
            name,
            file,
            end,
            {'modes': modes, 'stiffness_scale': stiffness_scale},
            {'damping_ratio': damping_ratio, 'damping_time': damping_time},
        )
        expect_valid_parts(robot_text(self._name, [link], [beam]))
        self._links[name], self._beams[name] = link, beam
        return self

    def _expect_new(self, kind, name, known):
        """Raise SettingError for an invalid name, and for one that is in use."""
        if name_text('name', name) in known:
            raise SettingError(
                f'name = "{name}": the arm has a {kind} of this name. Give another one'
            )
