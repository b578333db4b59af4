"""
Time of one evaluation and of one step.

`python -m benchmarks.step_time`
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.shipped_trees import shipped_trees
from benchmarks.timing import holding_gains, in_turns, median_ratio
from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.workspace import make_workspace

CALLS = 500  # in one measurement
QUERIES = ('pose', 'twist', 'jacobian', 'mass_matrix')
JOINTS = 16  # of the chains that Pinocchio gets


@compiled
def repeat_forward_dynamics(arm, q, qd, effort, work, qdd, calls):
    """Call `forward_dynamics` so often that the call from Python does not count."""
    for _ in range(calls):
        forward_dynamics(arm, q, qd, effort, work, qdd)


def step_times(rounds):
    """Time of one step of the default scheme [us], by shipped robot, held at its zero pose."""
    simulations = {}
    for name in shipped_trees():
        simulation = frs.Simulation(frs.load(name))
        simulation.hold(np.zeros(simulation.effort.size), *holding_gains(simulation.arm))
        simulations[name] = simulation
    times = in_turns([lambda one=one: one.step(CALLS) for one in simulations.values()], rounds)
    return {name: min(row) / CALLS * 1e6 for name, row in zip(simulations, times)}


def call_over_step(rounds):
    """Overhead of a call of `step()` for one step [us], for two_link at rest."""
    simulation = frs.Simulation(frs.load('two_link'))
    simulation.hold(np.zeros(simulation.effort.size), *holding_gains(simulation.arm))
    simulation.step(10 * CALLS)  # until all steps take as many iterations
    calls = max(1, CALLS // 10)  # a short time, which often passes without interruption

    def one_by_one():
        for _ in range(calls):
            simulation.step()

    alone, together = in_turns([one_by_one, lambda: simulation.step(calls)], 10 * rounds)
    return (min(alone) - min(together)) / calls * 1e6


def free_over_fixed(rounds):
    """Time of one step with a free base over that with a fixed one, by arm; both in motion."""
    anchor = '<link name="base"/><joint name="anchor" type="floating"><parent link="base"/>'
    bus = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    satellite = flexible_chain(2).replace('parent link="base"', 'parent link="bus"')
    satellite = satellite.replace(
        '<link name="base"/>',
        f'{anchor}<child link="bus"/></joint><link name="bus"><inertial><mass value="20"/>{bus}',
    )
    station = frs.robots()['space_station'].read_text()
    ratios = {}
    for name, text in (('canadarm2', station), ('two links', satellite)):
        calls, gains = [], None
        for kind in ('fixed', 'floating'):
            simulation = frs.Simulation(
                frs.load(text.replace('"floating"', f'"{kind}"'), gravity=(0, 0, 0))
            )
            gains = holding_gains(simulation.arm) if gains is None else gains
            simulation.hold(np.full(simulation.effort.size, 0.1), *gains)
            calls.append(lambda one=simulation: one.step(CALLS))
        fixed, free = in_turns(calls, 2 * rounds)
        ratios[name] = min(free) / min(fixed)
    return ratios


def against_pinocchio(rounds):
    """
    Forward dynamics of 16 coordinates, and Pinocchio's of 16 joints [us].

    Both with and without the call from Python. Without it, ours runs in a compiled loop, and the
    time of the same call for a robot without joints is subtracted from Pinocchio's.
    """
    arm = frs.load('dual_screw_arm')
    loop, called = _forward_dynamics(arm), _called_forward_dynamics(arm)
    try:
        import pinocchio
    except ImportError as error:
        times = [min(row) / CALLS * 1e6 for row in in_turns([loop, called], rounds)]
        return {
            'forward_dynamics_us_16': times[0],
            'forward_dynamics_called_us_16': times[1],
            'pinocchio_aba_us_16': None,
            'pinocchio_aba_called_us_16': None,
            'ratio_to_pinocchio': None,
            'ratio_to_pinocchio_called': None,
            'pinocchio_reason': str(error),
        }
    rows = in_turns([loop, called, _aba(pinocchio, JOINTS), _aba(pinocchio, 0)], rounds)
    own, own_called, theirs, empty = (min(row) / CALLS * 1e6 for row in rows)
    bare = [full - none for full, none in zip(rows[2], rows[3])]
    return {
        'forward_dynamics_us_16': own,
        'forward_dynamics_called_us_16': own_called,
        'pinocchio_aba_us_16': theirs - empty,
        'pinocchio_aba_called_us_16': theirs,
        'ratio_to_pinocchio': median_ratio(rows[0], bare),
        'ratio_to_pinocchio_called': median_ratio(rows[1], rows[2]),
    }


def queries_against_pinocchio(rounds):
    """
    Queries of the same rigid chain of 16 joints by both programs, called from Python [us].

    Pinocchio's get their arrays as they are, without a check, and a frame by its number.
    """
    arm = frs.load(rigid_chain(JOINTS))
    q, v = np.random.default_rng(0).normal(size=(2, JOINTS))
    ours = {
        'pose': lambda: frs.pose(arm, q),
        'twist': lambda: frs.twist(arm, q, v),
        'jacobian': lambda: frs.jacobian(arm, q),
        'mass_matrix': lambda: frs.mass_matrix(arm, q),
    }
    try:
        import pinocchio as pin
    except ImportError:
        times = in_turns([_repeated(call) for call in ours.values()], rounds)
        return {
            **{f'{name}_us_16': min(row) / CALLS * 1e6 for name, row in zip(ours, times)},
            **{
                f'{key}_{name}{end}': None
                for name in ours
                for key, end in (('pinocchio', '_us_16'), ('ratio_to_pinocchio', ''))
            },
        }
    model = pin.buildModelFromXML(rigid_chain(JOINTS))
    data, frame = model.createData(), model.getFrameId(arm.tool)

    def pose():
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[frame]

    def twist():
        pin.forwardKinematics(model, data, q, v)
        return pin.getFrameVelocity(model, data, frame)

    theirs = {
        'pose': pose,
        'twist': twist,
        'jacobian': lambda: pin.computeFrameJacobian(model, data, q, frame),
        'mass_matrix': lambda: pin.crba(model, data, q),
    }
    found = {}
    for name, call in ours.items():
        own, other = in_turns([_repeated(call), _repeated(theirs[name])], rounds)
        found[f'{name}_us_16'] = min(own) / CALLS * 1e6
        found[f'pinocchio_{name}_us_16'] = min(other) / CALLS * 1e6
        found[f'ratio_to_pinocchio_{name}'] = median_ratio(own, other)
    return found


def rigid_chain(joints):
    """Return the text of a robot of rigid links on hinges."""
    parts, before = ['<link name="base"/>'], 'base'
    for i in range(joints):
        axis = ('0 0 1', '0 1 0', '1 0 0')[i % 3]
        parts.append(
            f'<link name="link_{i}"><inertial><origin xyz="0.15 0.01 0"/><mass value="0.3"/>'
            '<inertia ixx="1e-3" iyy="0.00225" izz="0.00225" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="joint_{i}" type="revolute">'
            f'<parent link="{before}"/><child link="link_{i}"/><origin xyz="0.3 0.02 0.01" '
            f'rpy="0.3 0.2 0.1"/><axis xyz="{axis}"/><limit lower="-9" upper="9" effort="9" '
            'velocity="9"/></joint>'
        )
        before = f'link_{i}'
    return f'<robot name="chain">{"".join(parts)}</robot>'


def links_64_over_8(rounds):
    """Cost of the forward dynamics of 64 flexible links over that of 8."""
    times = in_turns(
        [_forward_dynamics(frs.load(flexible_chain(links))) for links in (64, 8)], rounds
    )
    return median_ratio(*times)


def flexible_chain(
    links,
    end='0.3 0 0',
    centre='0.15 0 0',
    inertia='ixx="1e-5" iyy="0.00225" izz="0.00225"',
    axis='',
    modes='bending_y="2" bending_z="2" torsion="1"',
):
    """Return the text of a robot of flexible links, each on a hinge, with 5 coordinates each."""
    parts, beams, before = ['<link name="base"/>'], [], 'base'
    for i in range(links):
        parts.append(
            f'<link name="link_{i}"><inertial><origin xyz="{centre}"/><mass value="0.3"/>'
            f'<inertia {inertia} ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="joint_{i}" type="continuous">'
            f'<parent link="{before}"/><child link="link_{i}"/>'
            f'<origin xyz="{end if i else "0 0 0"}"/>'
            f'<axis xyz="{"0 0 1" if i % 2 else "0 1 0"}"/></joint>'
        )
        beams.append(
            f'<link name="link_{i}" end="{end}">{axis}'
            f'<section EIy="20" EIz="30" GJ="10" EA="1e6"/><modes {modes}/></link>'
        )
        before = f'link_{i}'
    return (
        f'<robot name="chain">{"".join(parts)}<flexibility>{"".join(beams)}</flexibility></robot>'
    )


def _forward_dynamics(arm):
    """Return a function that evaluates the forward dynamics CALLS times in a random state."""
    state = _random_state(arm)
    return lambda: repeat_forward_dynamics(*state, CALLS)


def _called_forward_dynamics(arm):
    """Return a function that makes CALLS calls from Python, as users do."""
    _, q, qd, effort, *_ = _random_state(arm)

    def call():
        for _ in range(CALLS):
            frs.forward_dynamics(arm, q, qd, effort)

    return call


def _repeated(function):
    """Return a function that calls another one CALLS times."""

    def call():
        for _ in range(CALLS):
            function()

    return call


def _random_state(arm):
    """Arguments of `forward_dynamics`."""
    rng, joints = np.random.default_rng(0), len(arm.joint_names)
    q, qd = 0.01 * rng.normal(size=arm.size), 0.1 * rng.normal(size=arm.size)
    q[:joints] = rng.normal(size=joints)
    return (
        arm.arrays,
        q,
        qd,
        rng.normal(size=joints),
        make_workspace(arm.arrays),
        np.zeros(arm.size),
    )


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
    return {
        'step_us': step_times(rounds),
        'step_call_us': call_over_step(rounds),
        'free_over_fixed': free_over_fixed(rounds),
        **against_pinocchio(rounds),
        **queries_against_pinocchio(rounds),
        'links_64_over_8': links_64_over_8(rounds),
    }


def as_text(result):
    """Lines of the table."""
    for name, time in result['step_us'].items():
        yield f'one step, {name}', f'{time:.2f} us'
    yield 'a call of `step()` in addition to its step', f'{result["step_call_us"]:.2f} us'
    for name, ratio in result['free_over_fixed'].items():
        yield f'step with a free base over a fixed one, {name}', f'{ratio:.2f}'
    for way, words in (('', 'without the call'), ('called_', 'called from Python')):
        yield (
            f'forward dynamics, 16 coordinates, {words}',
            f'{result[f"forward_dynamics_{way}us_16"]:.2f} us',
        )
        if result['ratio_to_pinocchio'] is None:
            yield f'Pinocchio, 16 joints, {words}', f'not measured: {result["pinocchio_reason"]}'
            continue
        yield (
            f'Pinocchio, 16 joints, {words}',
            f'{result[f"pinocchio_aba_{way}us_16"]:.2f} us; ours takes '
            f'{result[f"ratio_to_pinocchio_{way}".rstrip("_")]:.2f} of it',
        )
    for name in QUERIES:
        theirs = result[f'pinocchio_{name}_us_16']
        yield (
            f'{name}, 16 rigid joints, called from Python',
            f'{result[f"{name}_us_16"]:.2f} us'
            + (
                ''
                if theirs is None
                else f", {result[f'ratio_to_pinocchio_{name}']:.2f} of Pinocchio's {theirs:.2f} us"
            ),
        )
    yield '64 flexible links over 8', f'{result["links_64_over_8"]:.2f}'


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
