"""
The experiments of the papers, one module each, run by `flexsim reproduce`.

A module has `run(progress, options) -> Reproduction`. It calls `progress` with the fraction that
is complete, 0 to 1. It also has

    DURATION_S      duration of the experiment in the paper [s]
    ROBOT           name or URDF text of the robot whose parameters `--set` changes
    VARIANT         what `--variant paper` changes, in words; '': the equations are the paper's
    VARIED          joint parameters that the experiment itself varies

`sensitivity` reads two more. HAS_FORCES is False if the experiment depends on lengths only.
COMPARES_MODELS is True if both sides of a comparison are models of this package.
"""

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from flex_robot_sim.reproduce.options import PAPER, Options, check_values
from flex_robot_sim.reproduce.reproduction import summary
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.plots import write_charts_of_both_kinds

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
FIGURE_WIDTH = 7.0  # text of 8 to 10 pt is legible at 600 px                     [inch]


def module_of(name: str, options: Options | None = None) -> ModuleType:
    """
    Return the module of an experiment; UsageError if it is unknown or the options do not apply.

    :param options: options of the intended run; None: defaults.
    """
    if name not in EXPERIMENTS:
        raise UsageError(f'no experiment "{name}". Known: {", ".join([*EXPERIMENTS, "all"])}.')
    module = import_module(f'{__name__}.{name}')
    options = options or Options()
    if options.variant and (options.variant != PAPER or not module.VARIANT):
        raise UsageError(
            f'{name}: no variant "{options.variant}". '
            + (f'Known: {PAPER}.' if module.VARIANT else 'Its equations are those of the paper.')
        )
    check_values(name, module.ROBOT, options.values, module.VARIED)
    return module


def reproduce(
    name: str,
    folder: str | Path,
    progress: Callable[[float], None] = lambda fraction: None,
    options: Options | None = None,
) -> dict[str, Any]:
    """
    Run the experiment `name`, write its figures into `folder`, and return its summary as a dict.

    :param progress: called with the fraction that is complete, 0 to 1.
    """
    options = options or Options()
    module = module_of(name, options)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f'{folder}: {error.strerror}. Name a folder that can be written.'
        ) from error
    wall_start, cpu_start = time.perf_counter(), time.process_time()
    reproduction = module.run(progress, options)
    paths = []
    for figure in reproduction.figures:
        paths += write_charts_of_both_kinds(
            folder / f'{name}_{figure.name}',
            figure.title,
            figure.charts,
            figure.columns,
            FIGURE_WIDTH,
        )
    return summary(
        name,
        reproduction,
        paths,
        time.perf_counter() - wall_start,
        time.process_time() - cpu_start,
        options.variant,
    )
