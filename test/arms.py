"""Small robots for tests as text, and the error messages of the reader."""

import re

import pytest

from flex_robot_sim import DescriptionError, read_description

BASE = '<link name="base"/>'


def robot(*parts):
    """Return a URDF whose line 2 is the base and whose further lines are `parts`."""
    return '\n'.join(['<robot name="test">', BASE, *parts, '</robot>'])


def link(name='arm', mass=2.0, centre='0.5 0 0', inertia=(1e-3, 1 / 6, 1 / 6), products=(0, 0, 0)):
    """Return a link on one line; the default is a slender beam of 1 m and 2 kg."""
    moments = ''.join(
        f' {key}="{value!r}"'
        for key, value in zip(('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'), (*inertia, *products))
    )
    return (
        f'<link name="{name}"><inertial><origin xyz="{centre}"/><mass value="{mass!r}"/>'
        f'<inertia{moments}/></inertial></link>'
    )


Z = '<axis xyz="0 0 1"/>'


def joint(name='hinge', kind='continuous', parent='base', child='arm', inside=Z):
    """Return a joint on one line."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'{inside}</joint>'
    )


SECTION = '<section EIy="20" EIz="30" GJ="10" EA="1e6"/>'


def flexibility(*inside):
    """Return a <flexibility> on one line."""
    return f'<flexibility>{"".join(inside)}</flexibility>'


def beam(inside=SECTION, end='1 0 0', name='arm', more=''):
    """Return a flexible link for <flexibility>."""
    return f'<link name="{name}" end="{end}"{more}>{inside}</link>'


def flexible_arm(*inside):
    """Return an arm of one flexible link; its <flexibility> is in line 5."""
    return robot(link(), joint(), flexibility(*(inside or (beam(),))))


def complaint(source):
    """Return the message of the DescriptionError for `source`."""
    with pytest.raises(DescriptionError) as caught:
        read_description(source)
    return str(caught.value)


def without_the_words_of_libxml(message):
    """Return the message without the part of libxml2, which differs between versions."""
    return re.sub(r'(well-formed XML: ).*(\. Mend)', r'\1(.*)\2', message)
