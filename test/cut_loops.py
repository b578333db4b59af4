"""
A random spatial mechanism with one loop, cut at any of its revolute joints.

All cuts describe the same mechanism by different trees, so that all results must agree.
"""

import numpy as np
from arms import flexibility, joint, robot
from closed_loops import constraint_text
from random_arms import _beam, _numbers, _rigid

DRIVES = ('joint_1', 'joint_2')  # all other joints are passive, with springs


def cut_loop(seed, cut, joints=9, beams=(1,), springs=40.0):
    """
    Return the mechanism as text, with `joints` - 6 degrees of freedom and two drives.

    :param cut: number of the joint that becomes a constraint, 5 or more.
    :param beams: numbers of flexible links, below `cut`; springs: their stiffness [N m/rad].
    """
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(joints) / joints
    points = np.column_stack([0.5 * np.cos(angles), 0.5 * np.sin(angles), 0 * angles])
    points += rng.uniform(-0.1, 0.1, points.shape)
    axes = rng.normal(size=(joints, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    names = ['base', *(f'link_{k}' for k in range(1, joints)), 'base']
    parts, flexible, roots = [], [], {'base': np.zeros(3)}
    for k in range(1, joints):  # link k is between the joints k and k + 1
        roots[names[k]] = points[k - 1] if k < cut else points[k]
        one = np.random.default_rng([seed, k])
        if k in beams:
            text, section = _beam(one, names[k], 'elements', points[k] - points[k - 1], False)
            flexible.append(section)
        else:
            text = _placed(one, names[k], points[k - 1] - roots[names[k]])
        parts.append(text)
    for k in range(1, joints + 1):
        near, far = (names[k - 1], names[k]) if k < cut else (names[k], names[k - 1])
        if k == cut:
            continue
        axis = axes[k - 1] * (1 if k < cut else -1)
        effort = 50 if f'joint_{k}' in DRIVES else 0
        parts.append(
            joint(
                f'joint_{k}',
                'continuous',
                near,
                far,
                f'<origin xyz="{_numbers(points[k - 1] - roots[near])}"/>'
                f'<axis xyz="{_numbers(axis)}"/><limit effort="{effort}" velocity="9"/>'
                + ('<dynamics damping="0.02"/>' if k < 5 else ''),
            )
        )
    flexible += [
        f'<joint name="joint_{k}" spring_stiffness="{springs}"/>' for k in (3, 4) if k != cut
    ]
    parent, child = names[cut - 1], names[cut]
    frames = (
        (link, np.block([[np.eye(3), (points[cut - 1] - roots[link])[:, None]], [np.zeros(3), 1]]))
        for link in (parent, child)
    )
    loop = constraint_text('loop', 'revolute', *frames, axes[cut - 1], axes[cut - 1])
    return robot(*parts, loop, flexibility(*flexible))


def _placed(rng, name, start):
    """Return a rigid link whose centre and inertia do not depend on its frame."""
    text = _rigid(rng, name)
    before, rest = text.split('xyz="', 1)
    numbers, after = rest.split('"', 1)
    return f'{before}xyz="{_numbers(np.array(numbers.split(), float) + start)}"{after}'
