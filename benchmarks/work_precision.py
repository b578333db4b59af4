"""
Wall time of the task in swing.py at a tip error of 1e-3, with this library and with others.

`python -m benchmarks.work_precision`

Every library gets the coarsest model and the longest step within the error, and the fastest of its
schemes. The reference is our arm with more coordinates and short steps. Chains of more and more
rigid pieces converge to the same limit, which checks this reference.
"""

from functools import partial
from importlib import import_module
from statistics import median

from benchmarks.chopped import chop
from benchmarks.precision import TOLERANCE, extrapolated, longest_step, tip_error
from benchmarks.swing import END, SAMPLES, described, servos, swing
from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.model.assembly import build_arm

PIECES = (3, 4, 5, 6, 8, 10)  # per flexible link
ITERATIONS = (2, 3, 4)  # of our scheme with Pinocchio
LONG_STEPS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32)  # per sample
SHORT_STEPS = (250, 320, 400, 500, 640, 800, 1000, 1280, 1600, 2000, 2560, 3200)
ELEMENTS = (3, 4, 6, 8)  # of Exudyn
ELEMENT_STEPS = (16, 20, 25, 32, 40, 50, 64)
QUICK_PIECES = (6,)
SCHEMES_TRIED_QUICKLY = ('discrete', 'Euler')
REFERENCE = {'modes': 2, 'segments': 2}


def measure(quick=False):
    """Return the figures of this page."""
    finer, arm = build_arm(described(**REFERENCE)), build_arm(described())
    reference = extrapolated(*(swing(finer, steps, iterations=4)[0] for steps in (80, 160)))
    steps, error = longest_step(lambda steps: swing(arm, steps)[0], reference)
    ours = partial(_our_seconds, arm, steps)
    result = {'tolerance': TOLERANCE, 'ours': _row(min(ours() for _ in range(9)), steps, error)}
    contenders = {
        'mujoco': ('chopped_mujoco', _mujoco),
        'pinocchio': ('chopped_pinocchio', _pinocchio),
        'pinocchio_with_our_scheme': ('chopped_pinocchio', _pinocchio_with_our_scheme),
        'exudyn': ('beams_exudyn', _exudyn),
    }
    for name, (module, run) in contenders.items():
        try:
            library = import_module(f'benchmarks.{module}')
        except ImportError as error:
            result[name] = {'seconds': None, 'times_ours': None, 'reason': str(error)}
            continue
        found = list(run(library, reference, ours, quick))
        result[name] = (
            min(found, key=lambda row: row['times_ours'])
            if found
            else {
                'seconds': None,
                'times_ours': None,
                'reason': 'no model that was tried is near enough',
            }
        )
    if 'reason' not in result['pinocchio_with_our_scheme'] and not quick:
        result['limit_of_chains_off_by'] = _limit_of_chains(reference)
    return {'work_precision': result}


def _our_seconds(arm, steps):
    return swing(arm, steps * SAMPLES, samples=1)[1]


def _mujoco(library, reference, ours, quick):
    for scheme in library.SCHEMES:
        if not quick or scheme in SCHEMES_TRIED_QUICKLY:
            yield from _fewest_pieces(
                library,
                reference,
                ours,
                SHORT_STEPS,
                scheme,
                quick,
                lambda chain, steps, samples, scheme=scheme: library.swing(
                    chain, scheme, steps, END, samples
                ),
            )


def _pinocchio(
    library,
    reference,
    ours,
    quick,
    scheme='semi_implicit_euler',
    choices=SHORT_STEPS,
    iterations=1,
):
    def run(chain, steps, samples):
        path, calls = library.swing(chain, scheme, steps, END, samples, iterations)
        # only the time in Pinocchio, as if a compiled scheme around it took no time
        return path, calls * library.call_time(chain)

    return _fewest_pieces(library, reference, ours, choices, scheme, quick, run)


def _pinocchio_with_our_scheme(library, reference, ours, quick):
    for iterations in ITERATIONS[1:2] if quick else ITERATIONS:
        for row in _pinocchio(
            library, reference, ours, quick, 'implicit_midpoint', LONG_STEPS, iterations
        ):
            yield {**row, 'iterations': iterations}


def _fewest_pieces(library, reference, ours, choices, scheme, quick, run):
    """Yield a row for the fewest pieces within the error, and for the next number."""
    arm, found = described(), 0
    for pieces in QUICK_PIECES if quick else PIECES:
        chain = library.build(*chop(arm, pieces, servos(arm)))
        best = longest_step(
            lambda steps, chain=chain: run(chain, steps, SAMPLES)[0], reference, choices
        )
        if best is None:
            continue
        steps, error = best
        pairs = [(run(chain, steps * SAMPLES, 1)[1], ours()) for _ in range(1 if quick else 5)]
        yield {
            **_row(min(pairs)[0], steps, error),
            'times_ours': _ratio(pairs),
            'pieces': pieces,
            'scheme': scheme,
        }
        found += 1
        if found == (1 if quick else 2):
            return


def _exudyn(library, reference, ours, quick):
    arm = described()
    for elements in ELEMENTS[-1:] if quick else ELEMENTS:
        for steps in ELEMENT_STEPS:
            path, seconds = library.Arm(arm, elements, servos(arm), GRAVITY).swing(
                steps, END, SAMPLES
            )
            error = tip_error(path, reference)
            if error <= TOLERANCE:
                yield {
                    **_row(seconds, steps, error),
                    'times_ours': _ratio([(seconds, ours())]),
                    'elements': elements,
                }
                break


def _limit_of_chains(reference):
    """Distance of the limit of chains of 8 and 16 pieces from the reference."""
    library = import_module('benchmarks.chopped_pinocchio')
    paths = []
    for pieces in (8, 16):
        chain = library.build(*chop(described(), pieces, servos(described())))
        paths.append(
            extrapolated(
                *(
                    library.swing(chain, 'implicit_midpoint', steps, END, SAMPLES, iterations=4)[0]
                    for steps in (80, 160)
                )
            )
        )
    return tip_error(extrapolated(*paths), reference)


def _ratio(pairs):
    return median(theirs / own for theirs, own in pairs)


def _row(seconds, steps, error):
    return {'seconds': seconds, 'step': END / SAMPLES / steps, 'tip_error': error}


def as_text(result):
    """Lines of the table."""
    result = result['work_precision']
    for name, words in (
        ('ours', 'ours'),
        ('mujoco', 'MuJoCo, chopped'),
        ('pinocchio', 'Pinocchio, chopped'),
        ('pinocchio_with_our_scheme', 'Pinocchio, chopped, our scheme'),
        ('exudyn', 'Exudyn, beams'),
    ):
        row = result[name]
        if row['seconds'] is None:
            yield words, f'not measured: {row["reason"]}'
            continue
        model = ''.join(f', {row[key]} {key}' for key in ('pieces', 'elements') if key in row)
        scheme = f', {row["scheme"]}' if 'scheme' in row else ''
        scheme += f' of {row["iterations"]} iterations' if 'iterations' in row else ''
        times = '' if name == 'ours' else f', {row["times_ours"]:.1f} times ours'
        yield (
            words,
            f'{row["seconds"] * 1e3:.4g} ms for {END:g} s{times}; tip error '
            f'{row["tip_error"]:.1e}, steps of {row["step"] * 1e3:.3g} ms{model}{scheme}',
        )
    if 'limit_of_chains_off_by' in result:
        yield (
            'limit of chains of rigid pieces',
            f'off ours by {result["limit_of_chains_off_by"]:.1e}',
        )


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')
