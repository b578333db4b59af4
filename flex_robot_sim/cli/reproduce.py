"""`flexsim reproduce`: the experiments of the papers, with figures and numbers beside theirs."""

import sys
import time
from argparse import SUPPRESS, Namespace
from collections.abc import Sequence
from typing import Any

from flex_robot_sim.cli.arguments import add_json, expect_within, print_result
from flex_robot_sim.cli.reproduce_together import SHARE, reproduce_together
from flex_robot_sim.reproduce.report import as_text

ALL = 'all'


def add_to(commands: Any, about: str) -> None:
    """Add the command to the parser."""
    from flex_robot_sim.reproduce import EXPERIMENTS

    known = '; '.join(f'{name}: {what}' for name, what in EXPERIMENTS.items())
    parser = commands.add_parser(
        'reproduce', help=about,
        description='Run an experiment of a paper with every formulation that can, draw the '
                    'figures that the paper shows as PNG and SVG, and print key numbers beside '
                    f'those of the paper, what agrees, what cannot be compared and what was '
                    f'chosen. {known}; all: as many at once as there are processors.')
    parser.add_argument('name', metavar='NAME', help=f'{", ".join([*EXPERIMENTS, ALL])}')
    parser.add_argument('--output', default='reproduced', metavar='DIR',
                        help='folder for the figures (default: %(default)s)')
    parser.add_argument('--seconds', type=float, help='cut the experiments short')
    parser.add_argument('--share', action='store_true', help=SUPPRESS)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from flex_robot_sim.reproduce import EXPERIMENTS, reproduce

    expect_within('--seconds', arguments.seconds, 1e3)
    if arguments.name == ALL:
        return _run_all(arguments, list(EXPERIMENTS))
    show = _Shares() if arguments.share else _Progress([arguments.name])
    try:
        found = reproduce(arguments.name, arguments.output,
                          lambda share: show(arguments.name, share), arguments.seconds)
    finally:
        show.clear()
    print_result(arguments, found, as_text)
    return 0


def _run_all(arguments: Namespace, names: Sequence[str]) -> int:
    started, show, found = time.perf_counter(), _Progress(names), {}
    try:
        for facts in reproduce_together(names, arguments.output, show, arguments.seconds):
            found[facts['experiment']] = facts
            show(facts['experiment'], 1.0)
            if not arguments.json:
                show.clear()
                print('\n'.join(as_text(facts)), flush=True)
    finally:
        show.clear()
    if arguments.json:
        print_result(arguments, {name: found[name] for name in names}, as_text)
    else:
        print(f'all: {time.perf_counter() - started:.0f} s, of processor time '
              f'{sum(facts["cpu_s"] for facts in found.values()):.0f} s')
    return 0


class _Progress:
    """The shares that are done, on a terminal."""

    def __init__(self, names):
        self._shares, self._shown, self._width = dict.fromkeys(names, 0.0), 0.0, 0

    def __call__(self, name, share):
        """Show the shares, now and then; from any thread."""
        self._shares[name] = share
        if sys.stderr.isatty() and time.monotonic() - self._shown > 0.2:
            self._shown = time.monotonic()
            running = ', '.join(f'{name} {share:.0%}' for name, share in self._shares.items()
                                if 0.0 < share < 1.0)
            done = sum(share == 1.0 for share in self._shares.values())
            line = running + (f'; {done} of {len(self._shares)} done'
                              if len(self._shares) > 1 else '')
            print(f'\r{line:{self._width}s}', end='', file=sys.stderr, flush=True)
            self._width = len(line)

    def clear(self):
        """Take the line away."""
        if self._width:
            print('\r' + ' ' * self._width + '\r', end='', file=sys.stderr, flush=True)
            self._width = 0


class _Shares:
    """The share that is done, as lines for another program."""

    def __init__(self):
        self._told = -1.0

    def __call__(self, name, share):
        """Tell it in steps of a per cent."""
        if share > self._told + 0.01:
            self._told = share
            print(f'{SHARE}{share:.3f}', file=sys.stderr, flush=True)

    def clear(self):
        """Leave the lines."""
