"""Parts of the joints of an arm from code: encoders and DC motors."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

from flex_robot_sim.description.argument_errors import expect_valid_parts
from flex_robot_sim.description.attribute_text import attribute_texts, expect_one_of
from flex_robot_sim.description.urdf_elements import flexible_element, robot_text
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Builder = TypeVar('Builder', bound='JointPartBuilder')


class JointPartBuilder:
    """Base class of ArmBuilder with the parts of its joints."""

    _name: str
    _links: dict[str, Element]
    _joints: dict[str, Element]
    _gears: dict[str, Element]

    def add_encoder(
        self: Builder,
        joint: str,
        *,
        resolution: float = 0.0,
        noise: float = 0.0,
        delay: float = 0.0,
    ) -> Builder:
        """
        Add the errors of the measured position of a joint, on both sides of its gear.

        :param joint: name of a joint that moves.
        :param resolution: step of the measured position [rad or m]; 0: no steps.
        :param noise: standard deviation of each sample [rad or m].
        :param delay: age of the measured position [s].

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y')
            builder.add_encoder('hinge', resolution=2e-4, delay=1e-3)
        """
        values = {'resolution': resolution, 'noise': noise, 'delay': delay}
        return self._add_to_joint(joint, 'encoder', 'add_encoder', values)

    def add_dc_motor(
        self: Builder,
        joint: str,
        *,
        motorconst: float,
        resistance: float,
        voltage: float,
        inductance: float = 0.0,
        current: float | None = None,
    ) -> Builder:
        """
        Add the electrical limits of the motor of a joint; numbers are those at its shaft.

        :param joint: name of a joint that moves.
        :param motorconst: torque over current, and back-EMF over speed [N m/A, V s/rad].
        :param resistance: of the winding [Ohm].
        :param voltage: largest voltage of the drive [V].
        :param inductance: of the winding [H]; 0: the current follows the voltage at once.
        :param current: largest current of the drive [A]; default: the voltage alone limits it.

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y')
            builder.add_gear('hinge', gear_ratio=100, rotor_inertia=1e-5)
            builder.add_dc_motor('hinge', motorconst=0.05, resistance=0.5, voltage=24)
        """
        values = {
            'motorconst': motorconst,
            'resistance': resistance,
            'voltage': voltage,
            'inductance': inductance,
            'current': current,
        }
        return self._add_to_joint(joint, 'dcmotor', 'add_dc_motor', values)

    def _add_to_joint(self, joint, tag, method, values):
        """Add a child element to the element of a joint in <flexibility>."""
        expect_one_of('', 'joint', joint, self._joints)
        texts = attribute_texts(f'joint "{joint}"', FLEXIBILITY[tag], values)
        element = (
            deepcopy(self._gears[joint])
            if joint in self._gears
            else flexible_element('joint', {'name': joint}, {})
        )
        if element.find(tag) is not None:
            what = {'encoder': 'an encoder', 'dcmotor': 'a DC motor'}[tag]
            raise SettingError(f'joint "{joint}" has {what}: call {method} once for each joint')
        element.append(flexible_element(tag, texts, {}))
        links = {part.attrib['link'] for part in self._joints[joint] if 'link' in part.attrib}
        expect_valid_parts(
            robot_text(
                self._name,
                [*(self._links[link] for link in links), self._joints[joint]],
                [element],
            )
        )
        self._gears[joint] = element
        return self
