"""
Pictures of the shipped robots with links of other shapes than beams: images/link_ROBOT.png.

    python docs/link_pictures.py [ROBOT ...]
"""

import sys
from pathlib import Path

from loop_pictures import draw

# positions of the joints, and azimuth and elevation of the view [deg]
VIEWS = {
    'tapered_boom': ({'slew': 0.3, 'luff': 0.5}, -65, 12),
    'telescopic_boom': (
        {'slew': 0.3, 'luff': 0.6, 'extend_middle': 1.8, 'extend_inner': 1.5},
        -65,
        12,
    ),
    'curved_arm': ({'slew': 0.3, 'lift': 0.1}, -75, 12),
    'printed_arm': ({'waist': 0.3, 'shoulder': 0.6, 'elbow': -0.9}, -65, 16),
}


def main(*names):
    """Draw the robots of these names, or all."""
    for name in names or VIEWS:
        draw(name, Path(__file__).parent / 'images' / f'link_{name}.png', *VIEWS[name])


if __name__ == '__main__':
    main(*sys.argv[1:])
