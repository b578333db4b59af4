"""`flexsim rig compare`: an experiment compared with its simulation."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from flex_robot_sim.cli.common import add_json, add_output, expect_drawable, print_result
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.rig.bridge.bench_comparison import compare, summary
from flex_robot_sim.rig.bridge.experiment_log import read_experiment
from flex_robot_sim.rig.calibration.file import read_calibration
from flex_robot_sim.rig.estimation.estimator_settings import ESTIMATORS


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Simulate an experiment with the inputs of its log, from the state at which the '
        'motors were switched on, and print the differences of joints, flex sensors and '
        'tip.'
    )
    parser.add_argument('log', metavar='LOG', help='log of the bridge (parameter log_file)')
    parser.add_argument(
        '--robot',
        default='',
        metavar='URDF',
        help='simulate this robot instead of the one in the log',
    )
    parser.add_argument(
        '--calibration', metavar='FILE', help='use this calibration instead of the one in the log'
    )
    parser.add_argument(
        '--estimator',
        choices=ESTIMATORS,
        default=ESTIMATORS[0],
        help='estimator of the bent link (default: %(default)s)',
    )
    add_output(parser, '--plot', metavar='FILE', help='draw both in a .png, .pdf or .svg file')
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    expect_drawable(arguments.plot)
    calibration = read_calibration(arguments.calibration) if arguments.calibration else None
    with show_progress('simulating the experiment'):
        experiment = read_experiment(arguments.log, arguments.robot, calibration)
        comparison = compare(experiment, arguments.estimator)
    if arguments.plot:
        _plot(arguments.plot, f'{experiment.arm.description.name}: {arguments.log}', comparison)
    print_result(arguments, summary(comparison), as_text)
    return 0


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Return the summary as lines of text."""
    runs = '' if facts['runs'] == 1 else f' in {facts["runs"]} runs'
    lines = [
        f'{facts["duration_s"]:.2f} s with the motors on{runs}, {facts["readings"]} '
        'readings; bench less simulation:',
        '',
        f'  {"":20} {"range":>13} {"rms":>11} {"largest":>11} {"rms":>8} {"steady":>8}',
    ]
    lines += [
        f'  {name:20} {_number(figures["range"], 9, 4)} {figures["unit"]:>3} '
        f'{_number(figures["rms_difference"], 11, 3)} '
        f'{_number(figures["largest_difference"], 11, 3)} '
        f'{_percent(figures["rms_percent"])} {_percent(figures["steady_percent"])}'
        for name, figures in facts['quantities'].items()
    ]
    lines += ['', '  Percent are of the range; steady: the mean of the last tenth.']
    if facts['missing_s']:
        lines += [
            f'  {facts["missing_s"]:.2f} s of telemetry are missing while the motors were '
            'on. Behind them the simulation',
            '  begins anew with joints at rest: do not trust these figures.',
        ]
    return lines


def _number(value, width, digits):
    return f'{"-":>{width}}' if value is None else f'{value:{width}.{digits}g}'


def _percent(value):
    return f'{"-":>8}' if value is None else f'{value:6.2f} %'


def _plot(path, title, comparison):
    from flex_robot_sim.util.plots import Curve, Panel, write_figure

    def with_gaps(values):
        """Insert gaps where the motors were off."""
        return np.insert(values, [run.start for run in comparison.runs[1:]], np.nan)

    time = with_gaps(comparison.time)
    panels = [
        Panel(
            'inputs [1, kstep/s]',
            (
                Curve('duty', time, with_gaps(comparison.duty)),
                Curve('step rate', time, with_gaps(comparison.step_rate / 1e3), 1),
            ),
        )
    ]
    for quantity in comparison.quantities:
        bench = Curve('bench', time, with_gaps(quantity.bench))
        simulation = Curve('simulation', time, with_gaps(quantity.simulation), 1, 1)
        panels.append(Panel(f'{quantity.name} [{quantity.unit}]', (bench, simulation)))
    write_figure(path, title, panels)
