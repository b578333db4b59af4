"""Reduced links with arbitrary numbers of the right shapes."""

import numpy as np

from flex_robot_sim.reduction.reduced_link import ARRAYS, ReducedLink

SIZES = {'n': 5, 's': 2, 'g': 1, 'm': 4, 'o': 4, 'k': 2, 'v': 4, 't': 2}


def example_link():
    """Return a link with five coordinates and two stations."""
    generator = np.random.default_rng(1)
    arrays = {
        item.name: generator.standard_normal(
            [SIZES.get(letter, letter) for letter in item.metadata['shape']]
        ).astype(item.metadata['dtype'])
        for item in ARRAYS
    }
    arrays['K'] = np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    arrays['surface_triangles'] = np.array([[0, 1, 2], [1, 3, 2]], np.int32)
    return ReducedLink(
        link='upper_arm',
        source='arm.step',
        source_hash='0' * 64,
        options='{"modes": 6}',
        mass=2.0,
        station_names=('elbow', 'camera'),
        **arrays,
    )
