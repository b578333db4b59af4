"""
Time of the derivatives of forward dynamics, over that of forward dynamics itself.

`python -m benchmarks.derivatives_time`

Both times exclude the call from Python. Ours is measured in a compiled loop. From Pinocchio's
time, that of the same call for a robot without joints is subtracted. Times are CPU times, so other
programs do not count.
"""

from time import thread_time

import numpy as np

import flex_robot_sim as frs
from benchmarks.step_time import flexible_chain, repeat_forward_dynamics, rigid_chain
from benchmarks.timing import in_turns, median_ratio
from flex_robot_sim.dynamics.derivative_arrays import column_order, make_derivative_arrays
from flex_robot_sim.dynamics.forward_dynamics_derivatives import forward_dynamics_derivatives
from flex_robot_sim.dynamics.loads import NO_LOADS
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.workspace import make_workspace

CALLS = 100  # of forward dynamics in one measurement
DERIVATIVE_CALLS = 50  # so that both last about as long
SHARE = CALLS / DERIVATIVE_CALLS
ALLOWED = 0.4  # of the number of coordinates, for all three Jacobians
RIGID_JOINTS = (8, 16, 32)
ROBOTS = ('ella', 'two_link', 'dual_screw_arm')


@compiled
def repeat_derivatives(
    arm, loads, order, q, qd, effort, work, arrays, qdd, M, by_rate, by_coordinate, slopes, calls
):
    """Call `forward_dynamics_derivatives` so often that the call from Python does not count."""
    for _ in range(calls):
        forward_dynamics_derivatives(
            arm, loads, order, q, qd, effort, work, arrays, qdd, M, by_rate, by_coordinate, slopes
        )


def one_link(modes):
    """Return the text of one flexible link with these modes along y and z, and one of torsion."""
    return flexible_chain(1).replace(
        'bending_y="2" bending_z="2"', f'bending_y="{modes}" bending_z="{modes}"'
    )


def arms():
    """Return arms of 8 to 32 coordinates by name, rigid chains first."""
    return {
        **{f'{joints} rigid links': frs.load(rigid_chain(joints)) for joints in RIGID_JOINTS},
        'one flexible link': frs.load(one_link(3)),
        **{name: frs.load(name) for name in ROBOTS},
        **{f'{links} flexible links': frs.load(flexible_chain(links)) for links in (2, 5)},
    }


def calls_of(arm):
    """Return functions that evaluate forward dynamics and its derivatives many times."""
    rng, n, joints = np.random.default_rng(0), arm.size, len(arm.joint_names)
    q, v, effort = 0.01 * rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=joints)
    q[:joints] = rng.normal(size=joints)
    order, work, a = column_order(arm.arrays), make_workspace(arm.arrays), np.zeros(n)
    scratch = (
        work,
        make_derivative_arrays(arm.arrays, order.coordinate.size),
        a,
        *np.zeros((3, n, n)),
        np.zeros((n, 2 * n + joints)),
    )
    return (
        lambda: repeat_forward_dynamics(arm.arrays, q, v, effort, work, a, CALLS),
        lambda: repeat_derivatives(
            arm.arrays, NO_LOADS, order, q, v, effort, *scratch, DERIVATIVE_CALLS
        ),
    )


def pinocchio_calls(pin, joints):
    """Return the same two functions of Pinocchio for a rigid chain; no joints: the bare calls."""
    model = pin.buildModelFromXML(rigid_chain(joints)) if joints else pin.Model()
    data, (q, v, effort) = model.createData(), np.random.default_rng(0).normal(size=(3, joints))

    def repeated(function, calls):
        def call():
            for _ in range(calls):
                function(model, data, q, v, effort)

        return call

    return repeated(pin.aba, CALLS), repeated(pin.computeABADerivatives, DERIVATIVE_CALLS)


def measure(quick=False):
    """Return all figures of this page, by arm."""
    try:
        import pinocchio as pin
    except ImportError:
        pin = None
    rounds, found = 41 if quick else 121, {}
    for name, arm in arms().items():
        forward, slopes = in_turns(calls_of(arm), rounds, thread_time)
        found[name] = {
            'coordinates': arm.size,
            'us': min(slopes) / DERIVATIVE_CALLS * 1e6,
            'over_forward_dynamics': SHARE * median_ratio(slopes, forward),
            'allowed': ALLOWED * arm.size,
        }
        if pin is not None and name.endswith('rigid links'):
            ours, *theirs = in_turns(
                [calls_of(arm)[1], *pinocchio_calls(pin, arm.size), *pinocchio_calls(pin, 0)],
                rounds,
                thread_time,
            )
            aba, bare = (
                [full - none for full, none in zip(theirs[k], theirs[k + 2])] for k in (0, 1)
            )
            found[name]['pinocchio_us'] = (min(theirs[1]) - min(theirs[3])) / (
                DERIVATIVE_CALLS * 1e-6
            )
            found[name]['pinocchio_over_its_aba'] = SHARE * median_ratio(bare, aba)
            found[name]['over_pinocchio'] = median_ratio(ours, bare)
    return {'derivatives': found}


def as_text(result):
    """Lines of the table."""
    for name, row in result['derivatives'].items():
        yield (
            f'{name}, {row["coordinates"]} coordinates',
            f'{row["us"]:.2f} us, {row["over_forward_dynamics"]:.2f} of a forward dynamics '
            f'(at most {row["allowed"]:.1f})',
        )
        if 'pinocchio_us' in row:
            yield (
                f'Pinocchio, {row["coordinates"]} joints',
                f'{row["pinocchio_us"]:.2f} us, {row["pinocchio_over_its_aba"]:.2f} of its '
                f'aba; ours takes {row["over_pinocchio"]:.2f} of it',
            )


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
