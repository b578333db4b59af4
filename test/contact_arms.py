"""Arms that touch the ground, obstacles and each other."""

from free_arms import SPACE_ARM

INERTIA = '<inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/>'


def slider(contact='', world='<ground/>', mass=2.0, radius=0.1, joints='xz'):
    """Return a ball that moves along axes without turning; contact: attributes."""
    links, joint_text, parent = '', '', 'base'
    for k, axis in enumerate(joints):
        child = 'ball' if k == len(joints) - 1 else f'cart_{axis}'
        if child != 'ball':
            links += f'<link name="{child}"/>'
        xyz = ' '.join(str(int(axis == one)) for one in 'xyz')
        joint_text += (
            f'<joint name="{axis}" type="prismatic"><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="{xyz}"/>'
            '<limit lower="-99" upper="99" effort="1e30" velocity="1e30"/></joint>'
        )
        parent = child
    return f"""<robot name="slider"><link name="base"/>{links}{joint_text}
<link name="ball"><inertial><mass value="{mass}"/>{INERTIA}</inertial>
<collision><geometry><sphere radius="{radius}"/></geometry></collision></link>
<flexibility><contact name="tool" link="ball" {contact}/>{world}</flexibility></robot>"""


def block(contact='', world='<ground/>', joint='floating', size='0.2 0.1 0.06'):
    """Return a box of 2 kg that moves freely, or in a plane."""
    return f"""<robot name="block"><link name="world"/>
<joint name="free" type="{joint}"><parent link="world"/><child link="body"/></joint>
<link name="body"><inertial><mass value="2"/>{INERTIA}</inertial>
<collision><geometry><box size="{size}"/></geometry></collision></link>
<flexibility><contact name="box" link="body" {contact}/>{world}</flexibility></robot>"""


def tumbling_box(contact=''):
    """Return a box that falls and turns in the plane x z, with a slope next to it."""
    return f"""<robot name="tumbling"><link name="base"/><link name="cart_x"/><link name="cart_z"/>
<joint name="x" type="prismatic"><parent link="base"/><child link="cart_x"/><axis xyz="1 0 0"/>
<limit lower="-99" upper="99" effort="1e30" velocity="1e30"/></joint>
<joint name="z" type="prismatic"><parent link="cart_x"/><child link="cart_z"/><axis xyz="0 0 1"/>
<limit lower="-99" upper="99" effort="1e30" velocity="1e30"/></joint>
<joint name="turn" type="continuous"><parent link="cart_z"/><child link="box"/>
<axis xyz="0 1 0"/></joint>
<link name="box"><inertial><mass value="2"/>{INERTIA}</inertial>
<collision><geometry><box size="0.2 0.1 0.06"/></geometry></collision></link>
<flexibility><contact name="box" link="box" {contact}/><ground/>
<obstacle name="slope"><origin xyz="0.5 0 0" rpy="0 0.4 0"/><geometry><box size="0.4 1 0.3"/>
</geometry></obstacle></flexibility></robot>"""


def pressing_beam(contact='', height=-0.001, damping='<damping ratio="0.2"/>'):
    """Return a fixed steel beam of 0.5 m with a ball at its end, above the ground."""
    return f"""<robot name="press"><link name="base"/>
<joint name="clamp" type="fixed"><parent link="base"/><child link="beam"/></joint>
<link name="beam"><inertial><origin xyz="0.25 0 0"/><mass value="0.2"/>
<inertia ixx="1e-5" iyy="0.00417" izz="0.00417" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="flange" type="fixed"><origin xyz="0.5 0 0"/><parent link="beam"/>
<child link="ball"/></joint>
<link name="ball"><inertial><mass value="0.5"/>
<inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.02"/></geometry></collision></link>
<flexibility><link name="beam" end="0.5 0 0"><section EIy="20" EIz="20" GJ="20"/>{damping}</link>
<contact name="tool" link="ball" {contact}/><ground height="{height - 0.02}"/>
</flexibility></robot>"""


def capsule(contact='', world='<ground/><obstacle name="ball"><origin xyz="0.2 0 0"/>'):
    """Return a cylinder of 2 kg that moves freely above the ground and a ball."""
    return block(
        contact, f'{world}<geometry><sphere radius="0.1"/></geometry></obstacle>'
    ).replace('<box size="0.2 0.1 0.06"/>', '<cylinder radius="0.03" length="0.3"/>')


def reaching_arm(contact='', world='<ground height="-0.4"/>'):
    """Return two flexible links with a flexible elbow and a ball, above the ground and a post."""
    return f"""<robot name="reach"><link name="base">
<collision><geometry><cylinder radius="0.05" length="0.3"/></geometry></collision></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 1 0"/></joint>
<link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="1"/>
<inertia ixx="1e-4" iyy="0.0208" izz="0.0208" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><origin xyz="0.5 0 0"/><parent link="upper"/>
<child link="fore"/><axis xyz="0 1 0"/></joint>
<link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="0.5"/>
<inertia ixx="1e-4" iyy="0.0067" izz="0.0067" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="flange" type="fixed"><origin xyz="0.4 0 0"/><parent link="fore"/>
<child link="ball"/></joint>
<link name="ball"><inertial><mass value="0.3"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.03"/></geometry></collision></link>
<flexibility><link name="upper" end="0.5 0 0"><section EIy="300" EIz="300" GJ="200"/></link>
<link name="fore" end="0.4 0 0"><section EIy="50" EIz="50" GJ="40"/>
<damping ratio="0.01"/></link>
<joint name="elbow" stiffness="2000" damping="1" rotor_inertia="1e-4" gear_ratio="50"/>
<contact name="tool" link="ball" {contact}/>
<contact name="self" link="ball" with="base" {contact}/>
{world}</flexibility></robot>"""


def grasping_satellite(contact=''):
    """Return a satellite whose second flexible link touches its bus and a box of the world."""
    shape = '<collision><origin xyz="{}"/><geometry>{}</geometry></collision>'
    ball = shape.format('0.8 0 0', '<sphere radius="0.05"/>')
    bus = shape.format('0.1 0 0', '<box size="0.6 0.4 0.4"/>')
    return (
        SPACE_ARM.replace('<link name="fore"><inertial>', f'<link name="fore">{ball}<inertial>')
        .replace('<link name="bus">', f'<link name="bus">{bus}')
        .replace(
            '</flexibility>',
            f'<contact name="tool" link="fore" {contact}/>'
            f'<contact name="hold" link="fore" with="bus" {contact}/>'
            '<obstacle name="wall"><origin xyz="1 2 4.2"/><geometry><box size="4 4 1"/></geometry>'
            '</obstacle></flexibility>',
        )
    )
