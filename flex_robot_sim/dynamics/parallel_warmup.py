"""
A second process that compiles what a step needs last, while this one begins with what comes first.

Compiling is work for one processor, because Python and Numba have one lock each. The two share
the cache and meet in the middle: `_compile_once` of compiled.py lets them wait for a function
that the other has in hand. The second one ends when it is through, or when the first is gone.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from flex_robot_sim.jit.compiled import (
    compile_for,
    compile_part,
    is_kept,
    lock_of_second_process,
    must_compile,
    parts_of,
)
from flex_robot_sim.util.interpreter import run_module


@functools.cache
def start_compiling_ahead() -> None:
    """Start the second process, unless there is nothing to do for it, or another one is there."""
    if not must_compile() or (os.cpu_count() or 1) < 2 or not sys.executable:
        return
    with lock_of_second_process() as lock:
        if lock is None:
            return
        try:
            process = subprocess.Popen(
                run_module(__name__), pass_fds=[lock.fileno()], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError:         # this one can do it alone
            return
    threading.Thread(target=_bury, args=(process,), daemon=True).start()


def progress() -> tuple[int, int]:
    """How many of the functions of a step are compiled, by any process, and how many there are."""
    functions = _functions_of_a_step()
    return sum(map(is_kept, functions)), len(functions)


@functools.cache
def _functions_of_a_step():
    from flex_robot_sim.dynamics.integrators import advance
    return parts_of(advance)


def _bury(process):
    """Leave neither a dead process nor an open pipe behind."""
    with process:
        process.wait()


def parts_of_a_step() -> list[tuple[Callable, Callable, tuple[Any, ...]]]:
    """Return by what to compile what `advance` calls, the last first, and for which arguments."""
    from flex_robot_sim.dynamics.coupled_damping import apply_coupled_damping
    from flex_robot_sim.dynamics.energy import set_energies
    from flex_robot_sim.dynamics.factor_reuse import set_answer
    from flex_robot_sim.dynamics.forces import add_powers, keep_laws, set_forces
    from flex_robot_sim.dynamics.forward_dynamics import (
        eliminate,
        inverse_dynamics,
        set_accelerations,
    )
    from flex_robot_sim.dynamics.integrators import advance
    from flex_robot_sim.dynamics.loads import make_loads, set_loads
    from flex_robot_sim.dynamics.monitors import make_watch, note_coarseness, note_validity
    from flex_robot_sim.model.arm_model import make_workspace
    from flex_robot_sim.model.assembly import load
    from flex_robot_sim.util.settings import SimulationSettings
    model = load('two_link')        # the types are those of any arm
    arm, h, (q, effort, flow) = model.arrays, 1e-3, np.zeros((3, model.size))
    work, loads, watch = (make_workspace(arm), make_loads(model),
                          make_watch(model, SimulationSettings()))
    return [(compile_part, note_coarseness, (arm, q, q, q, h, watch)),
            (compile_part, note_validity, (arm, q, 0, watch, work)),
            (compile_part, add_powers, (arm, q, q, q, effort, h, h, work, flow)),
            (compile_part, keep_laws, (arm, q, work)),
            (compile_part, apply_coupled_damping, (arm, h, q, work, q)),
            (compile_part, set_answer, (arm, q, work, q)),
            (compile_for, set_energies, (arm, q, q, work, flow)),   # Python asks for them, too
            (compile_part, eliminate, (arm, work)),
            (compile_part, inverse_dynamics, (arm, q, q, q, work, q)),
            (compile_part, set_accelerations, (arm, work, q)),
            (compile_part, set_forces, (arm, q, q, effort, h, q, work)),
            (compile_part, set_loads, (arm, loads, q, q, work)),
            (compile_for, advance, (arm, loads, 1, q, q, q, effort, h, 1, flow, watch, q[None],
                                    work))]


def _follow():
    """End when the process that started this one has ended, whatever ended it."""
    sys.stdin.read()
    os._exit(1)


if __name__ == '__main__':
    threading.Thread(target=_follow, daemon=True).start()
    for compile_, function, arguments in parts_of_a_step():
        compile_(function, *arguments)
