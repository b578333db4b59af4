"""
Time of a step of a flexible arm with contacts, over that of the same arm without them.

`python -m benchmarks.contact_time`
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.timing import in_turns

START = np.array([-0.35, 1.0])  # [rad]
SERVO = {'stiffness': 2000.0, 'damping': 50.0}  # [N m/rad], [N m s/rad]
DEPTH = 1e-3  # of the unloaded tool below the floor                                        [m]
SETTLE_S = 5.0
CALLS = 20  # in one measurement: short ones, because another program interrupts long ones
BALL, ENDS = frs.Sphere(0.02), frs.Capsule(0.02, 0.1)
# shape of the tool, and how many times the tool has it; None: far from the floor
CASES = {
    'no contact words': (BALL, 0),
    'far from the floor': (BALL, None),
    '1 point on the floor': (BALL, 1),
    '4 points on the floor': (ENDS, 2),
}


def pressing_arm(shape, count, height):
    """Return an arm of two tubes above a floor; a shape across the arm touches it."""
    material = frs.Material(E=7e10, G=2.6e10, density=2700)
    upper, fore = frs.Tube(0.03, 0.0015), frs.Tube(0.02, 0.001)
    builder = (
        frs.ArmBuilder('press')
        .add_beam('upper', length=0.5, section=upper, material=material, damping_ratio=0.01)
        .add_beam('fore', length=0.4, section=fore, material=material, damping_ratio=0.01)
        .add_rigid('tool', shape=frs.Sphere(0.02), mass=0.3)
        .add_joint('shoulder', parent='base', child='upper', axis='y')
        .add_joint('elbow', parent='upper', child='fore', axis='y')
        .attach('tool', parent='fore')
    )
    if count:
        builder.add_ground(height=height, friction=0.3)
        for _ in range(count):
            builder.add_collision('tool', shape=shape, rpy=(np.pi / 2, 0.0, 0.0))
        builder.add_contact('tool', link='tool')
    return builder.build()


def held(shape, count, height):
    """Return a simulation of the arm, at rest under its servo."""
    sim = frs.Simulation(pressing_arm(shape, count, height))
    sim.set_state(START)
    sim.hold(START, **SERVO)
    sim.advance_to(SETTLE_S)
    return sim


def measure(quick=False):
    """Return all figures of this part."""
    far = held(BALL, 1, -1.0)
    floor = far.contact('tool').point[2] + DEPTH
    sims = [far if count is None else held(shape, count, floor) for shape, count in CASES.values()]
    rows = in_turns([lambda sim=sim: sim.step(CALLS) for sim in sims], 100 if quick else 1000)
    steps = [min(row) / CALLS * 1e6 for row in rows]
    return {
        'contact': {
            name: {'step_us': step, 'ratio': step / steps[0]} for name, step in zip(CASES, steps)
        }
    }


def as_text(result):
    """Lines of the table."""
    for name, row in result['contact'].items():
        yield name, f'step {row["step_us"]:.2f} us, {row["ratio"]:.2f} of that without contacts'


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:42s} {value}')
