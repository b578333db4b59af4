"""Closed loops of an arm from code: constraints between frames on two links."""

from __future__ import annotations

from typing import TypeVar
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.argument_errors import expect_valid_parts
from flex_robot_sim.description.attribute_text import (
    attribute_text,
    attribute_texts,
    expect_one_of,
    name_text,
    vector_text,
)
from flex_robot_sim.description.urdf_elements import add_element, robot_text
from flex_robot_sim.description.urdf_words import URDF
from flex_robot_sim.util.exceptions import SettingError

Builder = TypeVar('Builder', bound='ConstraintBuilder')
ZERO = (0.0, 0.0, 0.0)


class ConstraintBuilder:
    """Base class of ArmBuilder with its constraints."""

    _name: str
    _links: dict[str, Element]
    _beams: dict[str, Element]
    _constraints: dict[str, Element]

    def add_constraint(
        self: Builder,
        name: str,
        *,
        type: str,
        parent: str,
        child: str,
        parent_xyz: ArrayLike | None = None,
        parent_rpy: ArrayLike = ZERO,
        parent_axis: str | ArrayLike | None = None,
        child_xyz: ArrayLike | None = None,
        child_rpy: ArrayLike = ZERO,
        child_axis: str | ArrayLike | None = None,
        length: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        rotational_stiffness: float | None = None,
        rotational_damping: float | None = None,
    ) -> Builder:
        """
        Close a loop: connect two links, in addition to the joints.

        The motors of a loop are those of joints without `effort=0`, which makes a joint passive.

        :param name: of the constraint.
        :param type: 'fixed', 'revolute', 'spherical', 'universal', 'prismatic' or 'distance'.
        :param parent, child: names of links of this arm.
        :param parent_xyz, parent_rpy: pose of the frame on the parent, (3,) [m] and (3,) [rad];
            default of parent_xyz: the end of a flexible link, the origin of a rigid one. The
            same applies to child_xyz and child_rpy.
        :param parent_axis: direction in the frame on the parent, if revolute, prismatic or
            universal: 'x', '-y', ... or (3,).
        :param child_axis: direction in the frame on the child: along the other axis if
            revolute, normal to it if universal.
        :param length: of a distance [m].
        :param stiffness: of springs along the conditions in translation [N/m]; default: rigid.
        :param damping: parallel to it [N s/m].
        :param rotational_stiffness: the same in rotation [N m/rad]; default: rigid.
        :param rotational_damping: parallel to it [N m s/rad].

        Example::

            builder = frs.ArmBuilder().add_rigid('left', mass=1.0).add_rigid('right', mass=1.0)
            builder.add_joint('a', parent='base', child='left', axis='y')
            builder.add_joint('b', parent='base', child='right', axis='y', xyz=(1, 0, 0), effort=0)
            builder.add_constraint('rod', type='distance', parent='left', child='right', length=1,
                                   parent_xyz=(0, 0, 1), child_xyz=(0, 0, 1))
        """
        if name_text('name', name) in self._constraints:
            raise SettingError(
                f'name = "{name}": the arm has a constraint of this name. Give another one'
            )
        owner, words = f'constraint "{name}"', URDF['constraint']
        expect_one_of('', 'parent', parent, self._links)
        expect_one_of('', 'child', child, self._links)
        element = Element(
            'constraint',
            attribute_texts(owner, words, {'name': name, 'type': type, 'length': length}),
        )
        for role, link, xyz, rpy, axis in (
            ('parent', parent, parent_xyz, parent_rpy, parent_axis),
            ('child', child, child_xyz, child_rpy, child_axis),
        ):
            add_element(element, role, link=link)
            pose = URDF[f'{role}_origin'].attributes
            place = self._far_end(link)
            if xyz is not None:
                place = attribute_text(owner, f'{role}_xyz', xyz, pose['xyz'])
            turn = attribute_text(owner, f'{role}_rpy', rpy, pose['rpy'])
            add_element(element, f'{role}_origin', xyz=place, rpy=turn)
            if axis is not None:
                direction = URDF[f'{role}_axis'].attributes['xyz']
                text = attribute_text(owner, f'{role}_axis', axis, direction)
                add_element(element, f'{role}_axis', xyz=text)
        springs = attribute_texts(
            owner,
            URDF['compliance'],
            {
                'stiffness': stiffness,
                'damping': damping,
                'rotational_stiffness': rotational_stiffness,
                'rotational_damping': rotational_damping,
            },
        )
        if springs:
            add_element(element, 'compliance', **springs)
        links = dict.fromkeys((parent, child))
        expect_valid_parts(
            robot_text(
                self._name,
                [*(self._links[link] for link in links), element],
                [self._beams[link] for link in links if link in self._beams],
            )
        )
        self._constraints[name] = element
        return self

    def _far_end(self, link):
        """Text of the end of a flexible link, of the origin of a rigid one [m]."""
        return self._beams[link].attrib['end'] if link in self._beams else vector_text(np.zeros(3))
