"""Random robots as text, and their random states."""

import numpy as np
from arms import BASE, joint, link, robot
from scipy.spatial.transform import Rotation

ALL = ('rigid', 'modes', 'elements', 'segments')
JOINTS = ('revolute', 'continuous', 'prismatic', 'fixed')


def random_robot(seed, links=6, kinds=ALL, joints=JOINTS, damping=False, gears=True):
    """
    Return a random tree as URDF.

    :param kinds: of links; all but 'rigid' are flexible, 'segments' have modes in two segments,
        and the section of 'varying' ones tapers and steps.
    :param joints: kinds of joints; :param damping: whether links, gears and joints lose energy.
    :param gears: whether some joints have a rotor, and some of these a flexible gear.
    """
    rng = np.random.default_rng(seed)
    parts, flexible, beams, gear_lines, moving = [], [], {}, [], 0
    for i in range(links):
        kind = kinds[rng.integers(len(kinds))]
        name, carrier = f'link_{i}', 'base' if i == 0 else f'link_{rng.integers(max(0, i - 3), i)}'
        if kind == 'rigid':
            parts.append(_rigid(rng, name))
        else:
            end = rng.normal(size=3)
            beams[name] = end * rng.uniform(0.4, 0.9) / np.linalg.norm(end)
            text, section = _beam(rng, name, kind, beams[name], damping)
            parts.append(text)
            flexible.append(section)
        sort = joints[rng.integers(len(joints))]
        if i == links - 1 and not moving:
            sort = 'revolute'
        moving += sort != 'fixed'
        parts.append(_joint(rng, f'joint_{i}', sort, carrier, name, beams.get(carrier), damping))
        if gears and sort != 'fixed' and rng.random() < 0.5:
            gear_lines.append(_gear(rng, f'joint_{i}', damping))
    inside = ''.join(flexible + gear_lines)
    return robot(*parts, *([f'<flexibility>{inside}</flexibility>'] if inside else []))


def every_feature(damping=False):
    """
    Return one tree with every feature of a description.

    Its base bends, and carries a beam in three segments with children off its axis: a geared
    slide where two segments meet, a held mimic joint, and at its end a beam of elements. That
    carries another beam, fixed to it, and so on to a massless tool.
    """
    rng = np.random.default_rng(0)
    beams = [
        _beam(rng, name, kind, np.array(end), damping)
        for name, kind, end in (
            ('base', 'modes', [0.0, 0.1, 0.6]),
            ('boom', 'segments', [0.9, 0.0, 0.0]),
            ('arm', 'elements', [0.0, -0.7, 0.0]),
            ('hand', 'modes', [0.3, 0.0, 0.3]),
        )
    ]
    limit = '<limit lower="-9" upper="9" effort="1" velocity="1"/>'
    if damping:
        limit += '<dynamics damping="0.3" friction="0.2"/>'
    rigid = [_rigid(rng, name) for name in ('post', 'cart', 'hook', 'tool_holder')]
    return robot(
        *(text for text, _ in beams),
        *rigid,
        '<link name="tool"/>',
        joint('mount', 'fixed', 'base', 'boom', _origin([0.0, 0.1, 0.6], [0.3, -0.4, 1.0])),
        joint('post_mount', 'fixed', 'base', 'post', _origin([0.1, 0.05, 0.3], [1.0, 0.0, 0.0])),
        joint(
            'slide',
            'prismatic',
            'boom',
            'cart',
            _origin([0.3, 0.1, -0.1], [0.1, 0.2, 0.3]) + '<axis xyz="1 2 3"/>' + limit,
        ),
        joint(
            'grip',
            'revolute',
            'boom',
            'hook',
            _origin([0.5, 0.0, 0.2], [2.0, 0.0, 1.0])
            + '<axis xyz="0 1 1"/><mimic joint="elbow" offset="0.4"/>'
            + limit,
        ),
        joint(
            'elbow',
            'continuous',
            'boom',
            'arm',
            _origin([0.9, 0.05, 0.0], [0.0, 1.0, 0.5]) + '<axis xyz="0 1 1"/>',
        ),
        joint('wrist', 'fixed', 'arm', 'hand', _origin([0.0, -0.7, 0.0], [0.0, 0.7, 0.0])),
        joint(
            'holder',
            'revolute',
            'hand',
            'tool_holder',
            _origin([0.3, 0.0, 0.3], [0.5, 0.0, 0.0]) + '<axis xyz="1 0 0"/>' + limit,
        ),
        joint('tool_mount', 'fixed', 'tool_holder', 'tool', _origin([0.1, 0.2, 0.3], [1, 2, 3])),
        '<flexibility mimic="held">'
        + ''.join(text for _, text in beams)
        .replace('segments="2"', 'segments="3"')
        .replace('stretch="0"', 'stretch="1"', 1)
        .replace('count="1"', 'count="2"')
        + f'<joint name="slide" stiffness="900" damping="{4 * damping}" rotor_inertia="1e-4" '
        + 'gear_ratio="50"/>'
        + '<joint name="holder" rotor_inertia="1e-5" gear_ratio="80"/></flexibility>',
    ).replace(BASE + '\n', '')


def random_state(arm, seed, turn=3.0, bend=0.1):
    """
    Return random q and qd.

    :param turn: largest angle of a joint [rad]; prismatic joints move a tenth of it [m].
    :param bend: largest coordinate of bending over the length of the beam.
    """
    rng = np.random.default_rng(seed)
    size, sliding = (
        np.empty(arm.size),
        {joint.name: joint.kind == 'prismatic' for joint in arm.description.joints},
    )
    for k, name in enumerate(arm.coordinate_names):
        owner, what = name.split('/')[0], name.split('/')[-1]
        if owner in sliding:
            size[k] = turn * (0.1 if sliding[owner] else 1.0)
        else:
            beam = arm.description.link(owner).beam
            size[k] = (
                0.3
                if 'torsion' in what
                else bend * beam.length / beam.segments * (0.1 if 'stretch' in what else 1.0)
            )
    q = size * rng.uniform(-1, 1, arm.size)
    guides = np.unique(arm.arrays.slide[arm.arrays.slide >= 0])  # hold their links within limits
    q[guides] = np.clip(q[guides], arm.arrays.lower[guides], arm.arrays.upper[guides])
    for k, name in enumerate(arm.joint_names):  # gears are twisted by a few degrees
        if f'{name}/motor' in arm.coordinate_names:
            q[arm.coordinate_names.index(f'{name}/motor')] = q[k] + 0.05 * rng.normal()
    return q, 3 * size * rng.uniform(-1, 1, arm.size)


def _numbers(values):
    return ' '.join(repr(float(value)) for value in values)


def _origin(xyz, rpy):
    return f'<origin xyz="{_numbers(xyz)}" rpy="{_numbers(rpy)}"/>'


def _rigid(rng, name):
    spread = np.sort(rng.uniform(0.02, 0.2, 3)) ** 2  # second moments over the mass
    mass = rng.uniform(0.2, 3.0)
    R = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    inertia = mass * R @ np.diag(spread.sum() - spread) @ R.T
    return link(
        name,
        float(mass),
        _numbers(rng.uniform(-0.2, 0.2, 3)),
        tuple(float(x) for x in np.diag(inertia)),
        (float(inertia[0, 1]), float(inertia[0, 2]), float(inertia[1, 2])),
    )


def _beam(rng, name, kind, end, damping):
    """Return a <link>, and its part of <flexibility>."""
    length, mass = np.linalg.norm(end), rng.uniform(0.3, 1.5)
    y_axis = rng.normal(size=3)
    x = end / length
    y = y_axis - (x @ y_axis) * x
    y /= np.linalg.norm(y)
    axes = np.column_stack([x, y, np.cross(x, y)])
    radii = rng.uniform(0.01, 0.03, 2) ** 2
    about = mass * np.array([radii.sum(), *(length**2 / 12 + radii)])
    inertia = axes @ np.diag(about) @ axes.T
    text = link(
        name,
        float(mass),
        _numbers(end / 2),
        tuple(float(x) for x in np.diag(inertia)),
        (float(inertia[0, 1]), float(inertia[0, 2]), float(inertia[1, 2])),
    )
    segments = rng.integers(1, 3) if kind == 'varying' else 1 + (kind == 'segments')
    counts = rng.integers(1, 4), rng.integers(0, 3), rng.integers(0, 3), rng.integers(0, 2)
    if kind == 'elements':
        shape = (
            f'<elements count="{rng.integers(1, 4)}" bending_z="{counts[1]}" '
            f'stretch="{rng.choice(["0", "all"])}"/>'
        )
    else:
        boundary = rng.choice(['static', 'free', 'mass', 'inertia'])
        shape = (
            f'<modes bending_y="{counts[0]}" bending_z="{counts[1]}" torsion="{counts[2]}" '
            f'stretch="{counts[3]}" boundary="{boundary}" '
            f'segments="{segments}"/>'
        )
    values = rng.uniform(0.5, 2.0, 4) * [100.0, 300.0, 80.0, 1e5]
    sections = _section(values)
    if kind == 'varying':
        step, values = rng.uniform(0.2, 0.8), [*values, mass / length]
        sections = ''.join(
            _section(rng.uniform(0.6, 1.6, 5) * values, at) for at in (0.0, step, step, 1.0)
        )
    loss = '<damping ratio="0.02"/>' if damping else ''
    return text, (
        f'<link name="{name}" end="{_numbers(end)}" y_axis="{_numbers(y_axis)}" '
        # as the reference has it
        f'twist_coupling="off">{sections}{shape}{loss}</link>'
    )


def _section(values, at=None):
    """Return a <section>; with `at`, the last of the values is a mass per length."""
    names = ('EIy', 'EIz', 'GJ', 'EA', 'mass_per_length')
    text = ' '.join(f'{name}="{value}"' for name, value in zip(names, values))
    return f'<section {text}/>' if at is None else f'<section at="{at}" {text}/>'


def _joint(rng, name, kind, carrier, child, end, damping):
    """Return a <joint>, on a flexible carrier at a random station and off its axis."""
    place = rng.uniform(-0.4, 0.4, 3)
    if end is not None:
        x = end / np.linalg.norm(end)
        along = rng.choice([0.0, 0.5, 1.0, rng.random()])
        place = along * end + 0.3 * (place - (place @ x) * x)
    inside = _origin(place, rng.uniform(-3, 3, 3))
    inside += f'<axis xyz="{_numbers(rng.normal(size=3))}"/>'
    if kind in ('revolute', 'prismatic'):
        inside += '<limit lower="-20" upper="20" effort="10" velocity="10"/>'
    if damping:
        inside += '<dynamics damping="0.3" friction="0.2"/>'
    return joint(name, kind, carrier, child, inside)


def _gear(rng, name, damping):
    stiffness = f'stiffness="{rng.uniform(50, 500)}" ' if rng.random() < 0.7 else ''
    loss = 'damping="0.4" ' if damping and stiffness else ''
    return (
        f'<joint name="{name}" {stiffness}{loss}rotor_inertia="{rng.uniform(1e-5, 1e-4)}" '
        f'gear_ratio="{rng.uniform(20, 90)}"/>'
    )
