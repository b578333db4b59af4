"""
The picture of the subpackages and their order, as SVG: images/rooms.svg.

    python docs/rooms_picture.py [FILE.svg]

The order comes from `test/project/test_layers.py`, which enforces it. The colours are readable on
light and dark pages.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / 'docs' / 'images' / 'rooms.svg'

# group of rooms, from the bottom: its last room, its colour
GROUPS = (
    ('foundation', 'spatial', '#5b6775'),
    ('model and dynamics', 'display', '#1f6f8b'),
    ('simulation', 'realtime', '#2a7d4f'),
    ('messages and files', 'recording', '#7a5a1e'),
    ('control', 'control', '#8a3b52'),
    ('applications', 'viewer', '#5a4a91'),
    ('interfaces', 'cli', '#3d4a5c'),
)
WIDTH, ROW, GAP, LABEL = 760, 30, 6, 150  # pixels


def rows():
    """Return the rooms of each row, from the bottom, without modules that are no subpackage."""
    sys.path[:0] = [str(ROOT / 'test' / 'project'), str(ROOT / 'test')]
    from test_layers import FOLDER, LAYERS

    found = [sorted(name for name in row if (FOLDER / name).is_dir()) for row in LAYERS]
    return [row for row in found if row]


def picture():
    """Return the picture as text."""
    groups = list(GROUPS)
    layers = []
    for row in rows():
        layers.append((row, *groups[0]))
        if groups[0][1] in row:
            groups.pop(0)
    height = len(layers) * (ROW + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">',
        '<title>Subpackages of flex_robot_sim: each imports only rows below it</title>',
    ]
    labelled = set()
    for k, (row, group, _, colour) in enumerate(reversed(layers)):
        y = GAP + k * (ROW + GAP)
        if group not in labelled:
            labelled.add(group)
            parts.append(
                f'<text x="{LABEL - 10}" y="{y + 20}" text-anchor="end" fill="#7d8590" '
                f'font-family="sans-serif" font-size="13">{group}</text>'
            )
        x = LABEL
        per_letter = (WIDTH - LABEL - GAP * len(row)) / sum(len(name) + 2 for name in row)
        for name in row:
            width = per_letter * (len(name) + 2)
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW}" rx="4" '
                f'fill="{colour}"/>'
            )
            size = min(13, int(1.6 * per_letter))
            parts.append(
                f'<text x="{x + width / 2:.1f}" y="{y + 20}" text-anchor="middle" fill="#ffffff" '
                f'font-family="monospace" font-size="{size}">{name}</text>'
            )
            x += width + GAP
    return '\n'.join([*parts, '</svg>', ''])


def main(file=FILE):
    """Write the picture."""
    Path(file).write_text(picture(), 'utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
