"""
The animation of the start page: one move of one arm, without and with an input shaper.

    python docs/start_picture.py [FILE.webp]

Both are simulations, drawn from the side. Bending is drawn ENLARGED times larger than it is, and
coloured by the true strain.
"""

import io
import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use('Agg')

import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from PIL import Image

import flex_robot_sim as frs
from flex_robot_sim.display.bending import BendingShape

ROBOT, ENLARGED = 'two_link', 6
POSES = np.array([[0.0, 1.1, -0.9], [0.0, 0.35, -0.2]])
MOVE, REST = 0.5, 2.3  # durations of a move and of the following rest        [s]
PERIOD = 1e-3  # of the set points of the drives, and of steps        [s]
EVERY, TRACE = 66, 11  # steps between frames, and between points of the trace
SLOW = 6.0  # the shaper suppresses modes below this frequency    [Hz]
SEEN = 900  # length of the trace of the tip in steps
FULL = 6e-4  # surface strain at the end of the colour scale        [-]
SIZE, DPI = (8.4, 3.9), 100
FILE = Path(__file__).parent / 'images' / 'start.webp'
GREY, INK = '#8a929c', '#7d8590'  # readable on light and dark pages


def set_points():
    """Return minimum-jerk positions of the drives (k, joints), forth and back."""
    s = np.minimum(np.arange(0.0, MOVE + REST, PERIOD) / MOVE, 1.0)[:, None]
    way = s**3 * (10 - 15 * s + 6 * s**2)
    there, back = (begin + way * (end - begin) for begin, end in (POSES, POSES[::-1]))
    return np.concatenate([there, back])


def simulated(arm, targets):
    """Return coordinates (k, n) of the arm while its drives follow positions (k, joints)."""
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=PERIOD))
    sim.set_state(POSES[0])
    # the second pass starts in the final state of the first, so that the animation loops
    twice = np.concatenate([targets, targets])
    return sim.follow(twice, np.gradient(twice, PERIOD, axis=0))[len(targets) : len(twice)]


class Drawing:
    """Drawing of an arm from the side."""

    def __init__(self, arm, axes):
        """Prepare the drawing of an arm in some axes."""
        # without shortening, which grows with the square of the enlarged deflection
        self.arm, self.axes = arm, axes
        self.linear = frs.load(ROBOT, coupling='zero_order')
        self.shape, self.true = BendingShape(self.linear), BendingShape(arm, full_scale=FULL)

    def draw(self, states):
        """Draw the arm at the last of its coordinates (k, n), with the trace of its tip."""
        axes, q = self.axes, states[-1]
        large = self._enlarged(q, ENLARGED)
        for artist in [*axes.lines, *axes.collections]:
            artist.remove()
        rigid = self.shape.bent(self._enlarged(q, 0.0)).axis
        bent, colours = self.shape.bent(large).axis, self.true.bent(q).rgba
        axes.plot([0, 0], [-0.02, 0.3], color='#454c56', linewidth=15, solid_capstyle='butt')
        for link in self.shape.links:
            axes.plot(
                *rigid[link.nodes].T[[0, 2]],
                color=GREY,
                linewidth=2,
                alpha=0.8,
                linestyle=(0, (3, 2)),
            )
        trace = [
            frs.pose(self.linear, self._enlarged(state, ENLARGED), link='tool')[[0, 2], 3]
            for state in states[::-TRACE]
        ]
        axes.plot(*np.transpose(trace), color='#2f81f7', linewidth=1.6, alpha=0.7)
        for link, width in zip(self.shape.links, (9, 6)):
            nodes = bent[link.nodes][:, [0, 2]]
            axes.add_collection(
                LineCollection(
                    [*np.stack([nodes[:-1], nodes[1:]], axis=1)],
                    colors=colours[link.pieces],
                    linewidths=width,
                    capstyle='round',
                )
            )
        for name, size in (('upper_arm', 17), ('forearm', 14), ('tool', 11)):
            place = frs.pose(self.linear, large, link=name)[:3, 3]
            axes.plot(
                place[0], place[2], 'o', markersize=size, color='#454c56', markeredgecolor=GREY
            )

    def _enlarged(self, q, factor):
        arm, q = self.arm, np.array(q)
        joints, motors = len(arm.joint_names), len(arm.motor_names)
        q[joints + motors :] *= factor
        return q


def frame_of(figure):
    """Return the figure as an image with a transparent background."""
    data = io.BytesIO()
    figure.savefig(data, dpi=DPI, transparent=True, format='png')
    return Image.open(data).convert('RGBA')


def main(file=FILE):
    """Simulate, draw and write."""
    arm = frs.load(ROBOT)
    modes = frs.modes(arm, POSES.mean(axis=0))
    slow = modes.frequencies < SLOW
    shaper = frs.shaping.zvd(modes.frequencies[slow], damping_ratios=modes.damping_ratios[slow])
    targets = set_points()
    times = PERIOD * np.arange(len(targets))
    runs = {
        'without shaper': targets,
        'with shaper': shaper.shape(times, targets).positions[: len(targets)],
    }
    figure, panels = plt.subplots(1, 2, figsize=SIZE)
    drawings = []
    for axes, title in zip(panels, runs):
        axes.set(xlim=(-0.12, 1.08), ylim=(-0.06, 1.0), aspect='equal')
        axes.set_title(title, color=INK, fontsize=15)
        axes.axis('off')
        drawings.append(Drawing(arm, axes))
    figure.subplots_adjust(0, 0.07, 1, 0.92, 0.02)
    figure.text(
        0.5,
        0.015,
        f'bending drawn {ENLARGED} times larger than it is',
        color=INK,
        ha='center',
        fontsize=11,
    )
    courses = [simulated(arm, points) for points in runs.values()]
    frames = []
    for now in range(0, len(targets), EVERY):
        for drawing, states in zip(drawings, courses):
            drawing.draw(np.roll(states, -now - 1, axis=0)[-SEEN:])
        frames.append(frame_of(figure))
    frames[0].save(
        file,
        save_all=True,
        append_images=frames[1:],
        loop=0,
        duration=round(1e3 * EVERY * PERIOD),
        quality=70,
        method=4,
        minimize_size=True,
    )
    print(f'{file}: {len(frames)} pictures, {Path(file).stat().st_size / 1e6:.2f} MB')


if __name__ == '__main__':
    main(*sys.argv[1:])
