"""Sensors of the links of an arm from code: flex sensors, strain gauges and IMUs."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

from numpy.typing import ArrayLike

from flex_robot_sim.description.argument_errors import expect_valid_parts
from flex_robot_sim.description.attribute_text import attribute_texts, expect_one_of
from flex_robot_sim.description.urdf_elements import flexible_element, robot_text
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Builder = TypeVar('Builder', bound='SensorBuilder')


class SensorBuilder:
    """Base class of ArmBuilder with the sensors of its links."""

    _name: str
    _links: dict[str, Element]
    _beams: dict[str, Element]
    _imus: dict[str, Element]

    def add_flex_sensor(
        self: Builder, link: str, name: str, *, start: float, end: float, plane: str
    ) -> Builder:
        """
        Add a sensor of the mean curvature of a flexible link between two stations.

        :param link: name of a flexible link.
        :param name: of the sensor; outputs are called `<link>/<name>`.
        :param start, end: first and last station, from the origin of the link [m].
        :param plane: in which it bends: 'xy' (bending_y) or 'xz' (bending_z).

        Example::

            builder = frs.ArmBuilder().add_beam('strip', length=0.5, material='steel',
                                                section=frs.Rectangle(0.002, 0.03))
            builder.add_flex_sensor('strip', 'root', start=0.02, end=0.05, plane='xy')
        """
        expect_one_of('', 'link', link, self._beams)
        sensor = attribute_texts(
            f'sensor "{name}"',
            FLEXIBILITY['flex_sensor'],
            {'name': name, 'from': start, 'to': end, 'plane': plane},
            {'from': 'start', 'to': 'end'},
        )
        return self._add_to_beam(link, flexible_element('flex_sensor', sensor, {}))

    def add_strain_gauge(
        self: Builder,
        link: str,
        name: str,
        *,
        at: ArrayLike,
        along: str | ArrayLike,
        distance: float,
    ) -> Builder:
        """
        Add a strain gauge on the surface of a reduced link.

        :param link: name of a reduced link.
        :param name: of the gauge; outputs are called `<link>/<name>`.
        :param at: point of the surface, in the link frame (3,) [m].
        :param along: direction of the strain: 'x', '-y', ... or (3,).
        :param distance: of the gauge from the neutral axis; the reading is the strain over it [m].
        """
        expect_one_of('', 'link', link, self._beams)
        gauge = attribute_texts(
            f'strain gauge "{name}"',
            FLEXIBILITY['strain_gauge'],
            {'name': name, 'at': at, 'along': along, 'distance': distance},
        )
        return self._add_to_beam(link, flexible_element('strain_gauge', gauge, {}))

    def _add_to_beam(self, link, sensor):
        """Add a sensor to a flexible link."""
        beam = deepcopy(self._beams[link])
        beam.append(sensor)
        expect_valid_parts(robot_text(self._name, [self._links[link]], [beam]))
        self._beams[link] = beam
        return self

    def add_imu(
        self: Builder,
        link: str,
        name: str,
        *,
        xyz: ArrayLike = (0.0, 0.0, 0.0),
        rpy: ArrayLike = (0.0, 0.0, 0.0),
        rate: float = 200.0,
        accelerometer_noise: float = 0.0,
        gyroscope_noise: float = 0.0,
        accelerometer_bias: ArrayLike = (0.0, 0.0, 0.0),
        gyroscope_bias: ArrayLike = (0.0, 0.0, 0.0),
        accelerometer_range: float | None = None,
        gyroscope_range: float | None = None,
        bits: int | None = None,
    ) -> Builder:
        """
        Add an accelerometer and a gyroscope with common axes to a rigid or flexible link.

        :param link: name of a link of this arm.
        :param name: of the IMU, unique in the arm.
        :param xyz: position in the link frame, (3,) [m]; it moves with the section of a beam.
        :param rpy: roll, pitch, yaw of its axes in the link frame, (3,) [rad].
        :param rate: samples per second [Hz].
        :param accelerometer_noise: one-sided density of white noise [m/s2/sqrt(Hz)].
        :param gyroscope_noise: one-sided density of white noise [rad/s/sqrt(Hz)].
        :param accelerometer_bias: constant error, (3,) [m/s2].
        :param gyroscope_bias: constant error, (3,) [rad/s].
        :param accelerometer_range: largest reading of an axis [m/s2]; default: no limit.
        :param gyroscope_range: largest reading of an axis [rad/s]; default: no limit.
        :param bits: word length of each axis, which needs both ranges; default: no steps.

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_imu('arm', 'imu', xyz=(0.2, 0, 0.01), accelerometer_noise=2e-3)
        """
        expect_one_of('', 'link', link, self._links)
        values = {
            'name': name,
            'xyz': xyz,
            'rpy': rpy,
            'rate': rate,
            'accelerometer_noise': accelerometer_noise,
            'gyroscope_noise': gyroscope_noise,
            'accelerometer_bias': accelerometer_bias,
            'gyroscope_bias': gyroscope_bias,
            'accelerometer_range': accelerometer_range,
            'gyroscope_range': gyroscope_range,
            'bits': bits,
        }
        imu = attribute_texts(f'IMU "{name}"', FLEXIBILITY['imu'], values)
        if name in self._imu_names():
            raise SettingError(
                f'name = "{name}": the arm has an IMU of this name. Give another one'
            )
        table = self._beams if link in self._beams else self._imus
        element = (
            deepcopy(table[link])
            if link in table
            else flexible_element('link', {'name': link}, {})
        )
        element.append(flexible_element('imu', imu, {}))
        expect_valid_parts(robot_text(self._name, [*self._links.values()], [element]))
        table[link] = element
        return self

    def _imu_names(self):
        """Names of all IMUs."""
        return [
            imu.attrib['name']
            for element in (*self._beams.values(), *self._imus.values())
            for imu in element.findall('imu')
        ]
