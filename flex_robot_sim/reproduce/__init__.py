"""
The experiments of the papers, each as one module that `flexsim reproduce` runs.

A module has `run(progress, seconds=None) -> Reproduction`: `progress` is told the share that is
done, `seconds` cuts the experiment short, for tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from flex_robot_sim.exceptions import UsageError
from flex_robot_sim.plots import write_charts_of_both_kinds
from flex_robot_sim.reproduce.report import summary

EXPERIMENTS = {
    'dual_screw': 'four joints, two elastic links, linearised or not (dual screws, section 6)',
    'element_sum_1': 'a slide and one flexible link, bang-bang (element sum, section 3.1)',
    'element_sum_2': 'two flexible links and a payload, bang-bang (element sum, section 3.2)',
    'rig': 'the bench, emulated, against its model (element sum, section 4)',
    'ella': 'a spatial arm of two flexible links under PD (wrench DAE, section 7)',
    'rcm': 'an arm with a remote centre of motion (screw kinematics, section 2.5)',
    'spin_up': 'a beam that is set turning, at five speeds (stiffened arm, section 4.1)',
    'canadarm2': 'the arm of the space station drops (stiffened arm, section 4.2)',
}


def reproduce(name: str, folder: str | Path,
              progress: Callable[[float], None] = lambda share: None,
              seconds: float | None = None) -> dict[str, Any]:
    """
    Run the experiment `name`, write its figures into `folder`, and return its summary as a dict.

    :param progress: called with the share that is done; seconds: cut the experiment short [s].
    """
    if name not in EXPERIMENTS:
        raise UsageError(f'no experiment "{name}". Known: {", ".join([*EXPERIMENTS, "all"])}.')
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f'{folder}: {error.strerror}. Name a folder that can be written.'
                         ) from error
    started, worked = time.perf_counter(), time.process_time()
    found = import_module(f'{__name__}.{name}').run(progress, seconds)
    paths = []
    for figure in found.figures:
        paths += write_charts_of_both_kinds(folder / f'{name}_{figure.name}', figure.title,
                                            figure.charts, figure.columns)
    return summary(name, found, paths, time.perf_counter() - started,
                   time.process_time() - worked)
