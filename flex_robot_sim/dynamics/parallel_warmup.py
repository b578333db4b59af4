"""
Parallel warm-up of the cache: a second process compiles the functions that a step needs last.

Compiling uses one processor, because Python and Numba have one lock each. Both processes share the
cache and meet in the middle: in `_compile_once` of compiled.py, each waits for a function that
the other is compiling. The second process ends when it has finished, or with the first.
"""

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from flex_robot_sim.jit.compiled import (
    compile_for,
    compiled_callees,
    is_cached,
    lock_of_second_process,
    must_compile,
)
from flex_robot_sim.jit.numba_support import USES_PLAIN_NUMBA
from flex_robot_sim.start import run_module


@functools.cache
def start_parallel_warmup() -> None:
    """Start the second process, unless nothing needs compiling or another one is running."""
    if USES_PLAIN_NUMBA or not must_compile() or (os.cpu_count() or 1) < 2 or not sys.executable:
        return
    with lock_of_second_process() as lock:
        if lock is None:
            return
        try:
            process = subprocess.Popen(
                run_module(__name__),
                pass_fds=[lock.fileno()],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError:  # then this process compiles alone
            return
    threading.Thread(target=_reap, args=(process,), daemon=True).start()


def progress() -> tuple[int, int]:
    """Number of functions of a step that any process has compiled, and their total number."""
    functions = _functions_of_a_step()
    return sum(map(is_cached, functions)), len(functions)


@functools.cache
def _functions_of_a_step():
    from flex_robot_sim.dynamics.integrators import advance_checked

    return compiled_callees(advance_checked)


def _reap(process):
    """Wait for the process, so that neither a zombie nor an open pipe remains."""
    with process:
        process.wait()


def compile_jobs() -> list[tuple[Callable, Callable, tuple[Any, ...]]]:
    """Return compilers, functions and arguments of all parts of a step, last first."""
    from flex_robot_sim.dynamics.arm_state import make_state, make_step_settings
    from flex_robot_sim.dynamics.constraints.projection import add_prescribed_reactions
    from flex_robot_sim.dynamics.constraints.responses import factor_constraints
    from flex_robot_sim.dynamics.constraints.rows import set_rows
    from flex_robot_sim.dynamics.constraints.singular_poses import note_singular_pose
    from flex_robot_sim.dynamics.constraints.solution import close_middle, close_rates, close_step
    from flex_robot_sim.dynamics.contact.solution import (
        contact_loss,
        prepare_contacts,
        solve_contacts,
    )
    from flex_robot_sim.dynamics.coupled_damping import apply_coupled_damping
    from flex_robot_sim.dynamics.energy import set_energies, sum_with_momentum
    from flex_robot_sim.dynamics.factor_reuse import solve_with_factors
    from flex_robot_sim.dynamics.forces import add_powers, set_forces, store_joint_forces
    from flex_robot_sim.dynamics.forward_dynamics import (
        eliminate,
        inverse_dynamics,
        set_accelerations,
    )
    from flex_robot_sim.dynamics.integrators import advance, advance_checked
    from flex_robot_sim.dynamics.loads import make_loads, set_loads
    from flex_robot_sim.dynamics.momentum import meet_momentum
    from flex_robot_sim.dynamics.monitors import make_watch, note_coarseness, note_validity
    from flex_robot_sim.jit.tuned_dispatcher import compile_part
    from flex_robot_sim.model.assembly import load
    from flex_robot_sim.model.workspace import make_workspace
    from flex_robot_sim.util.settings import SimulationSettings

    model = load('two_link')  # the types are the same for any arm
    arm, h, settings, state = model.arrays, 1e-3, SimulationSettings(), make_state(model)
    q, effort, flow = state.q, state.effort, state.flow
    work, loads, watch = make_workspace(arm), make_loads(model), make_watch(model, settings)
    steps = arm, loads, make_step_settings(settings), state, 1, watch, work
    return [
        (compile_part, note_coarseness, (arm, q, q, q, h, watch)),
        (compile_part, note_validity, (arm, q, 0, watch, work)),
        (compile_part, note_singular_pose, (arm, 0, watch, work)),
        (compile_part, meet_momentum, (arm, h, q, work)),
        (compile_part, sum_with_momentum, (arm, q, q, work)),
        (compile_part, contact_loss, (arm, q, h, work)),
        (compile_part, solve_contacts, (arm, q, h, work, q)),
        (compile_part, prepare_contacts, (arm, q, h, work, q)),
        (compile_part, add_powers, (arm, q, q, q, effort, h, h, work, flow)),
        (compile_part, store_joint_forces, (arm, q, work)),
        (
            compile_part,
            add_prescribed_reactions,
            (arm, work.constraint_jacobian, work.constraint_force, h, work, q, q),
        ),
        (compile_part, close_rates, (arm, q, work)),
        (compile_part, close_step, (arm, q, q, h, work, q, q, q)),
        (compile_part, close_middle, (arm, q, h, 1, work, q, q)),
        (compile_part, factor_constraints, (arm, work)),
        (compile_part, set_rows, (arm, work, work.constraint_jacobian)),
        (compile_part, apply_coupled_damping, (arm, h, q, work, q)),
        (compile_part, solve_with_factors, (arm, q, work, q)),
        (compile_for, set_energies, (arm, q, q, work, flow)),  # also called from Python
        (compile_part, eliminate, (arm, work)),
        (compile_part, inverse_dynamics, (arm, q, q, q, work, q)),
        (compile_part, set_accelerations, (arm, work, q)),
        (compile_part, set_forces, (arm, q, q, effort, h, q, work)),
        (compile_part, set_loads, (arm, loads, q, work)),
        (compile_part, advance, steps),
        (compile_for, advance_checked, steps),
    ]


def _exit_with_parent():
    """End when the parent process ends, for whatever reason."""
    sys.stdin.read()
    os._exit(1)


if __name__ == '__main__':
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    for compile_, function, arguments in compile_jobs():
        compile_(function, *arguments)
