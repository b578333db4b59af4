"""
Time of one evaluation and of one step.

`python -m benchmarks.step_time`
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.timing import in_turns, median_ratio
from flex_robot_sim.compiled import compiled
from flex_robot_sim.control.gains import fitting_gains
from flex_robot_sim.dynamics import forward_dynamics
from flex_robot_sim.model import make_workspace
from flex_robot_sim.share import shipped_robots

CALLS = 500                 # in one measurement
JOINTS = 16                 # of the chain that Pinocchio gets


@compiled
def repeat_forward_dynamics(arm, q, qd, effort, work, qdd, calls):
    """Call `forward_dynamics` so often that the call from Python does not count."""
    for _ in range(calls):
        forward_dynamics(arm, q, qd, effort, work, qdd)


def step_times(rounds):
    """Time of one step of the default scheme [us], by shipped robot, held at its zero pose."""
    simulations = {}
    for name in shipped_robots():
        simulation = frs.Simulation(frs.load(name))
        simulation.hold(np.zeros(simulation.effort.size), *fitting_gains(simulation.arm))
        simulations[name] = simulation
    times = in_turns([lambda one=one: one.step(CALLS) for one in simulations.values()], rounds)
    return {name: min(row) / CALLS * 1e6 for name, row in zip(simulations, times)}


def against_pinocchio(rounds):
    """Forward dynamics of 16 coordinates, and Pinocchio's of 16 joints [us]."""
    ours = _forward_dynamics(frs.load('dual_screw_arm'))
    try:
        import pinocchio
    except ImportError as error:
        time = min(in_turns([ours], rounds)[0]) / CALLS * 1e6
        return {'forward_dynamics_us_16': time, 'pinocchio_aba_us_16': None,
                'pinocchio_call_us': None, 'ratio_to_pinocchio': None,
                'pinocchio_reason': str(error)}
    times = in_turns([ours, _aba(pinocchio, JOINTS), _aba(pinocchio, 0)], rounds)
    own, theirs, empty = (min(row) / CALLS * 1e6 for row in times)
    return {'forward_dynamics_us_16': own, 'pinocchio_aba_us_16': theirs,
            'pinocchio_call_us': empty, 'ratio_to_pinocchio': median_ratio(*times[:2])}


def links_64_over_8(rounds):
    """Cost of the forward dynamics of 64 flexible links over that of 8."""
    times = in_turns([_forward_dynamics(frs.load(flexible_chain(links)))
                      for links in (64, 8)], rounds)
    return median_ratio(*times)


def flexible_chain(links):
    """Return the text of a robot of flexible links, each on a hinge, with 5 coordinates each."""
    parts, beams, before = ['<link name="base"/>'], [], 'base'
    for i in range(links):
        origin = '0 0 0' if i == 0 else '0.3 0 0'
        axis = '0 0 1' if i % 2 else '0 1 0'
        parts.append(
            f'<link name="link_{i}"><inertial><origin xyz="0.15 0 0"/><mass value="0.3"/>'
            '<inertia ixx="1e-5" iyy="0.00225" izz="0.00225" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="joint_{i}" type="continuous">'
            f'<parent link="{before}"/><child link="link_{i}"/>'
            f'<origin xyz="{origin}"/><axis xyz="{axis}"/></joint>')
        beams.append(f'<link name="link_{i}" end="0.3 0 0">'
                     '<section EIy="20" EIz="30" GJ="10" EA="1e6"/>'
                     '<modes bending_y="2" bending_z="2" torsion="1"/></link>')
        before = f'link_{i}'
    return (f'<robot name="chain">{"".join(parts)}<flexibility>{"".join(beams)}</flexibility>'
            '</robot>')


def _forward_dynamics(arm):
    """Return a function that evaluates the forward dynamics CALLS times in a random state."""
    arrays, rng = arm.arrays, np.random.default_rng(0)
    joints = len(arm.joint_names)
    q, qd = 0.01 * rng.normal(size=arm.size), 0.1 * rng.normal(size=arm.size)
    q[:joints] = rng.normal(size=joints)
    work, effort, qdd = make_workspace(arrays), rng.normal(size=joints), np.zeros(arm.size)
    return lambda: repeat_forward_dynamics(arrays, q, qd, effort, work, qdd, CALLS)


def _aba(pinocchio, joints):
    """Return a function that calls Pinocchio CALLS times; without joints, the bare call."""
    model, rng = pinocchio.Model(), np.random.default_rng(0)
    pinocchio.seed(0)
    kinds = (pinocchio.JointModelRX, pinocchio.JointModelRY, pinocchio.JointModelRZ)
    last = 0
    for i in range(joints):
        last = model.addJoint(last, kinds[i % 3](), pinocchio.SE3.Random(), f'joint_{i}')
        model.appendBodyToJoint(last, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    data, aba = model.createData(), pinocchio.aba
    q, qd, effort = rng.normal(size=(3, joints))

    def call():
        for _ in range(CALLS):
            aba(model, data, q, qd, effort)
    return call


def measure(quick=False):
    """Return all figures of this page."""
    rounds = 15 if quick else 41
    return {'step_us': step_times(rounds), **against_pinocchio(rounds),
            'links_64_over_8': links_64_over_8(rounds)}


def as_text(result):
    """Lines of the table."""
    for name, time in result['step_us'].items():
        yield f'one step, {name}', f'{time:.2f} us'
    yield 'forward dynamics, 16 coordinates', f'{result["forward_dynamics_us_16"]:.2f} us'
    if result['pinocchio_aba_us_16'] is None:
        yield 'Pinocchio, 16 joints', f'not measured: {result["pinocchio_reason"]}'
    else:
        yield ('Pinocchio, 16 joints', f'{result["pinocchio_aba_us_16"]:.2f} us, of which the '
               f'call from Python {result["pinocchio_call_us"]:.2f} us')
        yield 'ratio to Pinocchio', f'{result["ratio_to_pinocchio"]:.2f}'
    yield '64 flexible links over 8', f'{result["links_64_over_8"]:.2f}'


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
