"""`flexsim reproduce`: the experiments of the papers, with figures and verdicts."""

import sys
import time
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence

from flex_robot_sim.cli.common import add_json, expect_within, print_result
from flex_robot_sim.cli.reproduce_together import SHARE_PREFIX, reproduce_together
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.reproduce.reproduction import as_text
from flex_robot_sim.util.exceptions import UsageError

ALL = 'all'


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    from flex_robot_sim.reproduce import EXPERIMENTS
    from flex_robot_sim.reproduce.options import PAPER

    descriptions = '; '.join(f'{name}: {summary}' for name, summary in EXPERIMENTS.items())
    parser.description = (
        'Run an experiment of a paper with every formulation that can, draw the '
        'figures that the paper shows as PNG and SVG, and compare each number and '
        'claim of the paper with ours: agrees, differs or not comparable. '
        f'{descriptions}; all: as many at once as there are processors.'
    )
    parser.add_argument('name', metavar='NAME', help=f'{", ".join([*EXPERIMENTS, ALL])}')
    parser.add_argument(
        '--output',
        default='reproduced',
        metavar='DIR',
        help='folder for the figures (default: %(default)s)',
    )
    parser.add_argument('--seconds', type=float, help='cut the experiments short')
    parser.add_argument(
        '--variant',
        default='',
        metavar=PAPER.upper(),
        help=f"{PAPER}: the paper's own equations and numbers where ours differ, "
        'and how far each deviation moves the result',
    )
    parser.add_argument(
        '--set',
        action='append',
        default=[],
        metavar='NAME=VALUE',
        help='parameter of the robot, with the paths of identification and '
        'sweeps, such as link_2.EIz=3000; once per parameter',
    )
    parser.add_argument(
        '--no-formulations',
        action='store_true',
        help='leave out the runs by the other formulations, which take most of the time',
    )
    parser.add_argument(
        '--sensitivity',
        action='store_true',
        help='instead, find the smallest change of a stiffness or mass that turns a verdict',
    )
    parser.add_argument(
        '--page',
        metavar='FOLDER',
        help='write the tables into the pages of a folder, such as docs/papers',
    )
    parser.add_argument('--share', action='store_true', help=SUPPRESS)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from flex_robot_sim.reproduce import EXPERIMENTS, module_of, pages, reproduce
    from flex_robot_sim.reproduce.options import Options, parse_values

    expect_within('--seconds', arguments.seconds, 1e3)
    options = Options(
        arguments.seconds,
        arguments.variant,
        parse_values(arguments.set),
        runs_formulations=not arguments.no_formulations,
    )
    if arguments.sensitivity:
        return _print_sensitivity(arguments)
    if arguments.name == ALL:
        names = _with_variant(arguments, list(EXPERIMENTS))
    else:
        module_of(arguments.name, options)
        names = [arguments.name]
    if arguments.page:
        pages.check_pages(arguments.page, names, arguments.variant)
    if arguments.name == ALL:
        return _run_all(arguments, names)
    progress = _ShareLines() if arguments.share else _ExperimentProgress(names)
    try:
        results = reproduce(
            arguments.name,
            arguments.output,
            lambda share: progress(arguments.name, share),
            options,
        )
    finally:
        progress.clear()
    if arguments.page:
        pages.write_page(arguments.page, results)
    print_result(arguments, results, as_text)
    return 0


def _run_all(arguments: Namespace, names: Sequence[str]) -> int:
    from flex_robot_sim.reproduce import pages

    started, progress, results = time.perf_counter(), _ExperimentProgress(names), {}
    try:
        for facts in reproduce_together(
            names, arguments.output, progress, _options_of_each(arguments)
        ):
            results[facts['experiment']] = facts
            progress(facts['experiment'], 1.0)
            if arguments.page:
                pages.write_page(arguments.page, facts)
            if not arguments.json:
                progress.clear()
                print('\n'.join(as_text(facts)), flush=True)
    finally:
        progress.clear()
    if arguments.json:
        print_result(arguments, {name: results[name] for name in names}, as_text)
    else:
        print(
            f'all: {time.perf_counter() - started:.0f} s, of processor time '
            f'{sum(facts["cpu_s"] for facts in results.values()):.0f} s'
        )
    return 0


def _with_variant(arguments, names):
    """Return the experiments that have the variant; print a note about those that do not."""
    from flex_robot_sim.reproduce import module_of
    from flex_robot_sim.reproduce.options import PAPER

    if arguments.set:
        raise UsageError('--set changes the robot of one experiment. Name the experiment.')
    if not arguments.variant:
        return names
    if arguments.variant != PAPER:
        raise UsageError(f'no variant "{arguments.variant}". Known: {PAPER}.')
    supported = [name for name in names if module_of(name).VARIANT]
    excluded = ', '.join(name for name in names if name not in supported)
    print(
        f'flexsim reproduce: note: without {excluded}, whose equations are those of the paper',
        file=sys.stderr,
    )
    return supported


def _options_of_each(arguments):
    """Return the command-line options that each experiment of `all` gets."""
    options = [] if arguments.seconds is None else ['--seconds', repr(arguments.seconds)]
    options += ['--variant', arguments.variant] if arguments.variant else []
    return options + (['--no-formulations'] if arguments.no_formulations else [])


def _print_sensitivity(arguments):
    from flex_robot_sim.reproduce import module_of
    from flex_robot_sim.reproduce.sensitivity import as_lines, find_smallest_change

    if arguments.name == ALL:
        raise UsageError('--sensitivity takes one experiment. Name it.')
    if arguments.variant or arguments.set:
        raise UsageError(
            '--sensitivity changes parameters of our own variant. Leave out --variant and --set.'
        )
    progress = _ExperimentProgress([arguments.name])
    try:
        turn = find_smallest_change(
            module_of(arguments.name),
            lambda share: progress(arguments.name, share),
            arguments.seconds,
        )
    finally:
        progress.clear()
    print_result(
        arguments,
        {'experiment': arguments.name, 'turn': turn and turn._asdict()},
        lambda facts: as_lines(arguments.name, turn),
    )
    return 0


class _ExperimentProgress:
    """Progress of the experiments, in a line on a terminal."""

    def __init__(self, names):
        self._shares, self._shown_at, self._screen = dict.fromkeys(names, 0.0), 0.0, Screen()

    def __call__(self, name, share):
        """Update the share of an experiment and show it, at a limited rate; from any thread."""
        self._shares[name] = share
        if time.monotonic() - self._shown_at > 0.2:
            self._shown_at = time.monotonic()
            running = ', '.join(
                f'{name} {share:.0%}' for name, share in self._shares.items() if 0.0 < share < 1.0
            )
            done = sum(share == 1.0 for share in self._shares.values())
            self._screen.show(
                running
                + (f'; {done} of {len(self._shares)} done' if len(self._shares) > 1 else '')
            )

    def clear(self):
        """Erase the line."""
        self._screen.show('')


class _ShareLines:
    """Progress of one experiment, as lines for a parent process."""

    def __init__(self):
        self._printed_share = -1.0

    def __call__(self, _name, share):
        """Print the share in steps of one per cent."""
        if share > self._printed_share + 0.01:
            self._printed_share = share
            print(f'{SHARE_PREFIX}{share:.3f}', file=sys.stderr, flush=True)

    def clear(self):
        """Do nothing: the lines stay."""
