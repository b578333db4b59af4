"""
Trust figures: how often the package was compared with independent references, and the result.

`flexsim benchmark trust [CHECK] [--seed S] [--count N] [--page docs/trust.md]`

Case k of a check has the seed S + k, so `--seed WORST --count 1` repeats the worst case alone. The
random robots and references are those of the tests. To add a check, add a row to the CHECKS of a
module here.
"""

import datetime
import sys

from benchmarks.page import machine, write
from benchmarks.trust.check import Check
from benchmarks.trust.table import HEADER, rows
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import share_folder

SEED = 39  # of the first case of each check


def checks():
    """Return {name: Check}; UsageError if a library is not installed."""
    folder = str(share_folder() / 'test')
    if folder not in sys.path:  # it has the random robots and the references
        sys.path.append(folder)
    try:
        from benchmarks.trust import files, flexible, motion, rigid, simulation
    except ImportError as error:
        raise UsageError(
            f'the trust figures need {error.name}. Install it by '
            '`pip install -e ".[benchmark,test]"`.'
        ) from error
    found: dict[str, Check] = {}
    for module in (rigid, flexible, simulation, motion, files):
        found |= module.CHECKS
    return found


def has_public_robots():
    """Whether the descriptions of public robots are installed."""
    checks()
    from benchmarks.trust.rigid import public_robots

    return bool(public_robots())


def measure(quick=False, only='', seed=None, count=None, page='', report=lambda name: None):
    """
    Return {'trust': {name: figure}} of all checks, or of one.

    :param quick: whether to take the few cases of CI.
    :param count: of cases of each check; default: that of the page.
    :param page: to which each figure is written at once; '': none.
    :param report: called with the name of each check before it runs.
    """
    from benchmarks.trust.check import run

    known, today, found = checks(), datetime.date.today().isoformat(), {}
    if only and only not in known:
        raise UsageError(f'there is no check "{only}". Known: {", ".join(known)}.')
    for name in [only] if only else known:
        check = known[name]
        if name.startswith('public_') and not has_public_robots() and not only:
            continue
        report(name)
        default = check.quick_cases if quick else check.page_cases
        figure = run(check, SEED if seed is None else seed, count or default, today)
        found[name] = {**figure._asdict(), 'holds': figure.holds}
        if page:
            write(page, machine(), {'trust': rows(found, page, known)}, HEADER)
    return {'trust': found}


def as_text(found):
    """Yield a line for each figure."""
    for name, figure in found['trust'].items():
        verdict = '' if figure['holds'] else f'  FAILS: --seed {figure["worst"]} --count 1'
        yield name, f'{figure["error"]:.1e}, limit {figure["limit"]:.0e}{verdict}'
