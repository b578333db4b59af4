"""Random arms from code, and the plain numbers that they consist of."""

import numpy as np

import flex_robot_sim as frs

ROTOR, RATIO = 1e-5, 50.0  # of each moving joint of a random arm    [kg m2], [1]
DENSITY = 2700.0  # of its rigid links                      [kg/m3]


def random_parts(seed):
    """Return plain numbers of the links of a random tree and of their joints, base to tip."""
    rng, parts = np.random.default_rng(seed), []
    for k in range(7):
        kinds = ['revolute', 'prismatic', 'continuous', 'fixed'][: 4 if k else 1]
        parts.append(
            {
                'link': f'link_{k}',
                'joint': f'joint_{k}',
                'kind': str(rng.choice(kinds)),
                'parent': f'link_{rng.integers(max(k - 3, 0), k)}' if k else 'base',
                'axis': rng.normal(size=3),
                'xyz': rng.normal(size=3) / 3,
                'rpy': rng.uniform(-3, 3, 3),
                'centre': rng.normal(size=3) / 10,
                'turn': rng.uniform(-3, 3, 3),
                'shape': ('Box', 'Sphere', 'Cylinder')[k % 3],
                'sizes': rng.uniform(0.02, 0.2, (3, 1, 2)[k % 3]),
                'end': rng.normal(size=3) / 3,
                'bends': bool(rng.random() < 0.5),
            }
        )
    return parts


def random_builder(seed, bends=True, stiffness=900.0):
    """Return the ArmBuilder of `random_parts`; every second gear has the given stiffness."""
    builder, sections = frs.ArmBuilder(f'random_{seed}'), {}
    for k, part in enumerate(random_parts(seed)):
        name, xyz = part['link'], part['xyz']
        if bends and part['bends']:
            sections[name] = (frs.Tube(0.03, 0.002), frs.Rod(0.01), frs.Rectangle(0.01, 0.02))[
                k % 3
            ]
            builder.add_beam(
                name,
                section=sections[name],
                end=part['end'],
                y_axis=part['axis'],
                material=('aluminium', 'steel', 'titanium')[k % 3],
                segments=1 + k % 2,
                elements=(None, 2)[k % 2],
                damping_ratio=0.01,
            )
        else:
            builder.add_rigid(
                name,
                shape=getattr(frs, part['shape'])(*part['sizes']),
                centre=part['centre'],
                rpy=part['turn'],
                density=DENSITY,
            )
        limits = {'lower': -20, 'upper': 20} if part['kind'] == 'prismatic' else {}
        builder.add_joint(
            part['joint'],
            parent=part['parent'],
            child=name,
            type=part['kind'],
            axis=part['axis'],
            xyz=None if part['parent'] in sections else xyz,
            rpy=part['rpy'],
            **limits,
        )
        if part['kind'] != 'fixed':
            builder.add_gear(
                part['joint'],
                gear_ratio=RATIO,
                rotor_inertia=ROTOR,
                stiffness=(None, stiffness)[k % 2],
            )
    return builder
