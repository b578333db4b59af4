"""
Memory and time of an arm, a run and a part of a sweep: the figures of docs/scale.md.

`python -m benchmarks.scale`
"""

import json
import pickle
import tempfile
import tracemalloc
from concurrent.futures import wait
from time import perf_counter

import flex_robot_sim as frs
from benchmarks.timing import in_turns, median_ratio, seconds
from flex_robot_sim.description import read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.sweeps import Manoeuvre
from flex_robot_sim.sweeps.journal import Journal
from flex_robot_sim.sweeps.plan import make_plan, run_part

ROBOT, RUNS, TASKS = 'two_link', 256, 2000
MANY, FEW, STEPS = 2048, 32, 10


def measure(quick=False):
    """Return the figures of this page."""
    robot, arm = read_description(ROBOT), frs.load(ROBOT)
    plan = make_plan(
        robot,
        {'payload': 'uniform:0,0.2'},
        {'forearm.EIz': 'uniform:0.9,1.1'},
        Manoeuvre(seconds=0.01),
        'random',
        RUNS,
        0,
        'shortening',
        (0, 0, -9.81),
    )
    runs = [*range(2 if quick else RUNS)]
    part, (done, _) = plan.part(runs), run_part(plan.part(runs), runs)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, plan.identity, len(plan))
        writing = min(seconds(lambda: journal.add(done)) for _ in range(5))
        journal.close()
    sent, back = pickle.dumps((part, runs)), pickle.dumps(done)
    handling = min(
        seconds(lambda: (pickle.dumps((part, runs)), pickle.loads(back))) for _ in range(5)
    )
    return {
        'scale': {
            'arm_bytes': _bytes(arm.arrays),
            'work_bytes': _bytes(make_workspace(arm.arrays)),
            'state_bytes': 8 * (9 + 3) * arm.size,
            'build_ms': 1e3
            * min(seconds(lambda: build_arm(robot)) for _ in range(3 if quick else 9)),
            'part_sent_bytes': len(sent),
            'run_back_bytes': len(back) / len(runs),
            'run_held_bytes': _held(back) / len(runs),
            'run_kept_bytes': len(json.dumps({'run': 0, **done[-1].figures})),
            'head_us_per_run': 1e6 * (handling + writing) / len(runs),
            'many_over_few': _many_over_few(arm, 2 if quick else 9),
            'dask_tasks_per_second': _tasks_per_second(50 if quick else TASKS),
        }
    }


def _many_over_few(arm, rounds):
    """Time of a step of an arm among MANY over that among FEW, whose tables fit into a cache."""
    batches = [frs.Batch(arm, count, threads=1) for count in (MANY, FEW)]
    for batch in batches:
        batch.hold(0.0, 40.0, 4.0)
    many, few = in_turns(
        [lambda one=one: [one.step(STEPS) for _ in range(MANY // len(one))] for one in batches],
        rounds,
    )
    return median_ratio(many, few)


def _tasks_per_second(count):
    """Rate at which a scheduler of Dask processes empty parts [1/s], or None without Dask."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return None
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as local,
        Client(local) as client,
    ):
        executor = client.get_executor(pure=False)
        wait([executor.submit(int) for _ in range(10)])
        began = perf_counter()
        wait([executor.submit(int) for _ in range(count)])
        return count / (perf_counter() - began)


def _held(back):
    """Memory of finished runs in the process that submitted them."""
    tracemalloc.start()
    runs = pickle.loads(back)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held if runs else 0


def _bytes(arrays):
    return sum(array.nbytes for array in arrays)


def as_text(result):
    """Lines of the table."""
    found = result['scale']
    yield f'{ROBOT}: arrays of an arm', f'{found["arm_bytes"] / 1024:.1f} KiB'
    yield 'workspace of a step', f'{found["work_bytes"] / 1024:.1f} KiB'
    yield 'state', f'{found["state_bytes"] / 1024:.1f} KiB'
    yield (
        f'a step of one among {MANY}, {STEPS} in a call',
        f'{found["many_over_few"]:.2f} times one among {FEW}',
    )
    yield 'to build an arm from its description', f'{found["build_ms"]:.0f} ms'
    yield 'a part of a sweep, sent to a worker', f'{found["part_sent_bytes"] / 1024:.1f} KiB'
    yield 'a run, returned', f'{found["run_back_bytes"]:.0f} bytes'
    yield 'a finished run, in memory', f'{found["run_held_bytes"]:.0f} bytes'
    yield 'a run, on disk', f'{found["run_kept_bytes"]} bytes'
    yield 'time of the submitting process, per run', f'{found["head_us_per_run"]:.0f} us'
    tasks = found['dask_tasks_per_second']
    yield (
        'empty parts through a scheduler of Dask',
        'not measured: no module named distributed' if tasks is None else f'{tasks:.0f} a second',
    )


if __name__ == '__main__':
    for line in as_text(measure()):
        print(': '.join(line))
