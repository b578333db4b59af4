"""Arms with sliding links, as text."""

LENGTH, MASS, EI, GJ = 1.5, 3.0, 400.0, 150.0
MOUTH = 1.2


def link(name, mass, length, section):
    """Return a <link> with the inertia of a slender beam, and of its sections per length."""
    along, across = section
    thin = mass * length**2 / 12 + across * length
    return f"""<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>
  <inertia ixx="{along * length}" iyy="{thin}" izz="{thin}" ixy="0" ixz="0" iyz="0"/></inertial>
</link>"""


def beam(name, length, modes, guide, mouth, inside=''):
    """Return a sliding <link> of <flexibility>."""
    return f"""<link name="{name}" end="{length} 0 0" guide="{guide}" mouth="{mouth}">
  <section EIy="{EI}" EIz="{2 * EI}" GJ="{GJ}" EA="1e7"/><modes {modes}/>{inside}</link>"""


def sliding_arm(
    *,
    modes='bending_y="2" bending_z="2" torsion="1"',
    mouth=MOUTH,
    tip_mass=0.7,
    point=0.0,
    damping='',
    gear='',
    limit='lower="-0.1" upper="1.1"',
    inertia=(2e-3, 0.0),
    turret=0.0,
):
    """
    Return the URDF of a turret, with a boom that slides out of it, and a body at its tip.

    :param point: mass of a point at the tip instead of the body [kg].
    :param turret: inertia about the mouth [kg m2], instead of the usual turret.
    """
    limits = f'<limit {limit} effort="1e4" velocity="1e4"/>'
    body = '<inertia ixx="2e-3" iyy="3e-3" izz="2.5e-3" ixy="0" ixz="0" iyz="0"/>'
    tip = f'<origin xyz="0.05 0.02 -0.01"/><mass value="{tip_mass}"/>{body}'
    if point:
        tip = f'<mass value="{point}"/>{body.replace("e-3", "e-12")}'
    place = f'{-mouth} 0 0' if turret else '-1 0.05 0.4'
    centre, inertias = ('0 0 0', (turret,) * 3) if turret else ('0.1 0 0.2', (0.3, 0.3, 0.2))
    ixx, iyy, izz = inertias
    return f"""<robot name="crane">
<link name="base"/>
<link name="turret"><inertial><origin xyz="{centre}"/><mass value="5"/>
  <inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0" ixz="0" iyz="0"/></inertial></link>
{link('boom', MASS, LENGTH, inertia)}
<link name="tool">{f'<inertial>{tip}</inertial>' if tip_mass or point else ''}</link>
<joint name="swing" type="continuous"><parent link="base"/><child link="turret"/>
  <axis xyz="0 0 1"/></joint>
<joint name="out" type="prismatic"><parent link="turret"/><child link="boom"/>
  <origin xyz="{place}"/><axis xyz="1 0 0"/>{limits}</joint>
<joint name="mount" type="fixed"><parent link="boom"/><child link="tool"/>
  <origin xyz="{LENGTH} 0 0"/></joint>
<flexibility>
{beam('boom', LENGTH, modes, 'out', mouth, damping)}
{gear}</flexibility>
</robot>"""


def telescope():
    """Return a boom as of `sliding_arm`, out of whose tip a second one slides."""
    text = sliding_arm().replace('"mount" type="fixed"', '"mount" type="revolute"')
    modes = 'bending_y="2" bending_z="2" torsion="0"'
    text = text.replace('<parent link="boom"/>', '<parent link="tip_boom"/>').replace(
        f'<origin xyz="{LENGTH} 0 0"/></joint>\n<flex',
        '<origin xyz="1.2 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-2" upper="2" effort="10" velocity="10"/></joint>\n'
        '<joint name="further" type="prismatic"><parent link="boom"/><child link="tip_boom"/>'
        '<origin xyz="0.5 0 0" rpy="0.4 0 0"/><axis xyz="1 0 0"/>'
        '<limit lower="0" upper="0.8" effort="1e4" velocity="10"/></joint>\n<flex',
    )
    text = text.replace(
        '<link name="tool">', link('tip_boom', 1.0, 1.2, (0, 0)) + '<link name="tool">'
    )
    return text.replace(
        '<flexibility>', '<flexibility>' + beam('tip_boom', 1.2, modes, 'further', 1.0)
    )
