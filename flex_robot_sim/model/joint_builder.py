"""Joints of an arm from code, with their gears."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.argument_errors import expect_valid_parts
from flex_robot_sim.description.attribute_text import (
    attribute_text,
    attribute_texts,
    expect_one_of,
    number,
    vector_text,
)
from flex_robot_sim.description.joint_elements import JointValue, joint_elements
from flex_robot_sim.description.urdf_elements import add_element, flexible_element, robot_text
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.model.constraint_builder import ZERO, ConstraintBuilder
from flex_robot_sim.model.link_builder import LinkBuilder
from flex_robot_sim.util.exceptions import SettingError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Builder = TypeVar('Builder', bound='JointBuilder')


class JointBuilder(LinkBuilder, ConstraintBuilder):
    """Base class of ArmBuilder with its joints."""

    _base: str
    _joints: dict[str, Element]
    _gears: dict[str, Element]
    _parents: dict[str, str]

    def add_joint(
        self: Builder,
        name: str,
        *,
        parent: str,
        child: str,
        type: str = 'revolute',
        axis: str | ArrayLike = 'z',
        xyz: ArrayLike | None = None,
        rpy: ArrayLike = ZERO,
        station: float | None = None,
        pitch: float | None = None,
        mouth: float | None = None,
        lower: JointValue = None,
        upper: JointValue = None,
        effort: float | None = None,
        velocity: float | None = None,
        acceleration: float | None = None,
        deceleration: float | None = None,
        jerk: float | None = None,
        viscous_friction: JointValue = None,
        coulomb_friction: JointValue = None,
        static_friction: JointValue = None,
        stribeck_rate: JointValue = None,
        presliding: JointValue = None,
        creep_rate: JointValue = None,
        spring_stiffness: JointValue = None,
        spring_reference: JointValue = None,
    ) -> Builder:
        """
        Connect two links by a joint. Its frame is that of the child at zero.

        Joints have a motor, except for those with several coordinates, and those of `add_mimic`.

        :param name: of the joint.
        :param parent, child: names of links of this arm.
        :param type: 'revolute', 'prismatic', 'continuous' or 'fixed'; 'universal' about the axes x
            and y of the joint frame, or 'spherical' about x, y and z, with the coordinates
            `<name>_x`, `<name>_y` and `<name>_z`; 'planar' across its axis, with `<name>_x`,
            `<name>_y` and `<name>_theta`, and three values of each limit, friction and spring, or
            None; 'screw', which turns about its axis and moves along it; at the base 'floating'.
        :param axis: direction of the motion in the joint frame: 'x', '-y', ... or (3,).
        :param xyz, rpy: pose of the joint in the frame of the parent, (3,) [m] and (3,) [rad];
            default of xyz: the end of a flexible parent, the origin of a rigid one.
        :param station: distance along a flexible parent, instead of xyz [m].
        :param pitch: of a screw joint: travel along the axis per turn [m].
        :param mouth: makes the child, a beam, slide out of a guide by a prismatic joint: distance
            of the mouth of the guide from the frame of the joint, along its axis [m].
        :param lower, upper: limits [rad or m]; default of a revolute joint: none.
        :param effort: largest effort of the motor [N m or N]; default: no limit.
        :param velocity: largest speed [rad/s or m/s]; default: no limit.
        :param acceleration: largest one [rad/s2 or m/s2]; default: no limit.
        :param deceleration: largest one; default: that of acceleration.
        :param jerk: largest one [rad/s3 or m/s3]; default: no limit.
        :param viscous_friction: [N m s/rad or N s/m].
        :param coulomb_friction: dry friction in motion [N m or N]; static_friction: at rest.
        :param stribeck_rate: at which static decays to Coulomb friction [rad/s or m/s].
        :param presliding: displacement over which dry friction rises [rad or m].
        :param creep_rate: at which dry friction reaches its level; it sticks if 0 [rad/s or m/s].
        :param spring_stiffness: of a spring across the joint [N m/rad or N/m].
        :param spring_reference: joint position without spring force [rad or m].

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y', viscous_friction=0.1)
        """
        self._expect_new('joint', name, self._joints)
        self._expect_tree(parent, child)
        joint, gears = joint_elements(
            name,
            parent,
            child,
            type,
            axis,
            self._position(name, parent, xyz, station),
            rpy,
            {
                'lower': lower,
                'upper': upper,
                'effort': effort,
                'velocity': velocity,
                'acceleration': acceleration,
                'deceleration': deceleration,
                'jerk': jerk,
            },
            {
                'viscous_friction': viscous_friction,
                'coulomb_friction': coulomb_friction,
                'static_friction': static_friction,
                'stribeck_rate': stribeck_rate,
                'presliding': presliding,
                'creep_rate': creep_rate,
                'spring_stiffness': spring_stiffness,
                'spring_reference': spring_reference,
            },
            pitch,
        )
        beam = None if mouth is None else self._beam_with_guide(name, child, type, mouth)
        self._keep_joint(joint, gears, beam)
        return self

    def add_gear(
        self: Builder,
        joint: str,
        *,
        gear_ratio: float = 1.0,
        rotor_inertia: float = 0.0,
        stiffness: ArrayLike | None = None,
        at: ArrayLike | None = None,
        damping: float | None = None,
        hysteresis: float | None = None,
        slip: ArrayLike | None = None,
        backlash: float | None = None,
        kinematic_error: ArrayLike | None = None,
        cogging: ArrayLike | None = None,
        torque_ripple: ArrayLike | None = None,
    ) -> Builder:
        """
        Add a gear and the rotor of the motor to a joint.

        :param joint: name of a joint that moves.
        :param gear_ratio: motor speed over joint speed [1 or rad/m].
        :param rotor_inertia: of the motor about its own axis [kg m2].
        :param stiffness: of the gear, between motor side and link side [N m/rad or N/m];
            default: rigid; up to three, with the torques at which the stiffness changes.
        :param at: these torques, ascending, one fewer than stiffnesses [N m or N].
        :param damping: parallel to this stiffness [N m s/rad or N s/m].
        :param hysteresis: energy lost per cycle over the elastic energy; needs an effort limit.
        :param slip: instead of hysteresis, stiffness and force of up to four springs that slip,
            parallel to the stiffness: [(k1, f1), ...] [N m/rad and N m, or N/m and N].
        :param backlash: total width of the dead zone of the twist [rad or m].
        :param kinematic_error: transmission error as harmonics, up to four rows of amplitude
            [rad or m], cycles per turn of the motor, and phase [rad].
        :param cogging: cogging torque at the motor shaft as harmonics [N m, -, rad].
        :param torque_ripple: ripple relative to the motor torque, as harmonics [-, -, rad].

        Example::

            builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0, 0))
            builder.add_joint('hinge', parent='base', child='arm', axis='y')
            builder.add_gear('hinge', gear_ratio=100, rotor_inertia=2e-5, stiffness=1e4)
        """
        expect_one_of('', 'joint', joint, self._joints)
        gear = dict(self._gears[joint].attrib) if joint in self._gears else {}
        if 'gear_ratio' in gear:
            raise SettingError(f'joint "{joint}" has a gear: call add_gear once for each joint')
        gear |= attribute_texts(
            f'joint "{joint}"',
            FLEXIBILITY['joint'],
            {
                'gear_ratio': gear_ratio,
                'rotor_inertia': rotor_inertia,
                'stiffness': stiffness,
                'damping': damping,
                'hysteresis': hysteresis,
                'slip': slip,
                'at': at,
                'backlash': backlash,
                'kinematic_error': kinematic_error,
                'cogging': cogging,
                'torque_ripple': torque_ripple,
            },
        )
        self._keep_joint(self._joints[joint], {joint: gear})
        return self

    def add_mimic(
        self: Builder, joint: str, *, leader: str, multiplier: float = 1.0, offset: float = 0.0
    ) -> Builder:
        """
        Let a joint follow another one, without a motor of its own.

        :param joint: name of a joint that moves.
        :param leader: name of the joint that it follows.
        :param multiplier: ratio of its position to that of the leader.
        :param offset: position where the leader is at zero [rad or m].

        Example::

            builder = frs.ArmBuilder().add_rigid('left', mass=0.1).add_rigid('right', mass=0.1)
            slide = {'parent': 'base', 'type': 'prismatic', 'lower': 0, 'upper': 0.04}
            builder.add_joint('left_finger', child='left', axis='y', **slide)
            builder.add_joint('right_finger', child='right', axis='-y', **slide)
            builder.add_mimic('right_finger', leader='left_finger')
        """
        for argument, name in (('joint', joint), ('leader', leader)):
            expect_one_of('', argument, name, self._joints)
        element = deepcopy(self._joints[joint])
        if element.attrib['type'] == 'fixed' or element.find('mimic') is not None:
            raise SettingError(
                f'joint "{joint}" takes no leader: it is fixed, has several axes, or has a leader'
            )
        values = {'joint': leader, 'multiplier': multiplier, 'offset': offset}
        owner = f'joint "{joint}"'
        add_element(
            element, 'mimic', **attribute_texts(owner, URDF['mimic'], values, {'joint': 'leader'})
        )
        self._keep_joint(
            element, {joint: dict(self._gears[joint].attrib) if joint in self._gears else {}}
        )
        return self

    def _expect_tree(self, parent, child):
        expect_one_of('', 'parent', parent, self._links)
        expect_one_of('', 'child', child, self._links)
        if child == self._base:
            raise SettingError(
                f'child = "{child}" is the fixed base: give a link that moves, or '
                'exchange parent and child'
            )
        if child in self._parents:
            raise SettingError(
                f'child = "{child}" has the parent "{self._parents[child]}": links '
                'form a tree, so give another child'
            )
        above = parent
        while above is not None:
            if above == child:
                raise SettingError(
                    f'child = "{child}" carries the parent "{parent}": links form '
                    'a tree, so give another child'
                )
            above = self._parents.get(above)

    def _position(self, name, parent, xyz, station):
        """Return the text of the position of a joint in the frame of its parent."""
        owner = f'joint "{name}"'
        if xyz is not None and station is not None:
            raise SettingError(f'xyz and station of {owner}: give one of them')
        if xyz is not None:
            return attribute_text(owner, 'xyz', xyz, URDF['origin'].attributes['xyz'])
        if parent not in self._beams:
            if station is not None:
                raise SettingError(f'station of {owner}: link "{parent}" is rigid. Give xyz')
            return vector_text(np.zeros(3))
        end_text = self._far_end(parent)
        if station is None:
            return end_text
        for tag, kind in (('axis', 'curved'), ('reduced', 'a reduced link')):
            if self._beams[parent].find(tag) is not None:
                raise SettingError(f'station of {owner}: link "{parent}" is {kind}. Give xyz')
        end = np.array(end_text.split(), float)
        length = np.sqrt(end @ end)
        along = number(owner, 'station', station, 'm')
        if not 0 <= along <= length:
            raise SettingError(
                f'station = {along:g} of {owner} must be from 0 to {length:g} m, '
                f'the length of link "{parent}"'
            )
        return vector_text(along / length * end)

    def _beam_with_guide(self, name, child, kind, mouth):
        """Return the element of a beam that slides out of a guide by a joint."""
        if child not in self._beams or kind != 'prismatic':
            raise SettingError(
                f'mouth of joint "{name}": a prismatic joint to a beam has one. Leave it out'
            )
        beam = deepcopy(self._beams[child])
        words = attribute_texts(f'joint "{name}"', FLEXIBILITY['link'], {'mouth': mouth})
        beam.attrib.update({'guide': name, **words})
        return beam

    def _keep_joint(self, joint, gears, sliding=None):
        """
        Check a joint with its parent, and add it.

        :param gears: attributes in <flexibility>, by the name of their element.
        :param sliding: element of its child, if that slides out of a guide.
        """
        parent, child = (joint.find(tag).attrib['link'] for tag in ('parent', 'child'))
        flexible = [_without_guide(self._beams[x]) for x in (parent, child) if x in self._beams]
        if sliding is not None:
            flexible[-1] = sliding
        elements = {
            name: flexible_element('joint', {'name': name, **gear}, {})
            for name, gear in gears.items()
            if gear
        }
        for name in elements.keys() & self._gears.keys():
            elements[name].extend(self._gears[name])  # its encoder and DC motor
        expect_valid_parts(
            robot_text(
                self._name,
                [self._links[parent], self._links[child], joint],
                [*flexible, *elements.values()],
            )
        )
        self._joints[joint.attrib['name']], self._parents[child] = joint, parent
        if sliding is not None:
            self._beams[child] = sliding
        self._gears.update(elements)


def _without_guide(beam):
    """Return a copy of the element of a beam that does not slide: its joint is checked alone."""
    copied = deepcopy(beam)
    for word in ('guide', 'mouth'):
        copied.attrib.pop(word, None)
    return copied
