"""
Explained variance of two logs of a real arm: by its model, and by regressions without mechanics.

The model is fitted as in docs/identification_results.md, once to each log, and validated on the
other. Ridge regressions give an upper bound: joint angles as sines and cosines; rates,
accelerations and products of them, 0.05 s ahead to 0.3 s late. Further inputs are motor currents,
or the root gauge of the other link above 8 Hz, where that link hardly moves: noise of amplifiers.
"""

import re
from pathlib import Path

import numpy as np
from scipy.signal import butter, savgol_filter, sosfiltfilt

import flex_robot_sim as frs
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import read_log
from flex_robot_sim.identification.noise import noise_floor
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.identification.validation import explainable
from flex_robot_sim.model.assembly import build_arm

ROOT = Path(__file__).parents[1]
LOGS = 'exp1.csv', 'exp2.csv'
PERIOD = 0.01  # [s]
LAGS = range(-5, 31)  # samples
ABOVE = 8.0  # nearly all motion of the second link is below     [Hz]
COLUMNS = {'link2/eps21': 10, 'link2/eps22': 11, 'link3/eps31': 12, 'link3/eps32': 13}
RIDGES = 1e-4, 1e-3, 1e-2, 1e-1  # the best one counts, because the result is an upper bound


def command():
    """Arguments of the command on the page, by option."""
    page = (ROOT / 'docs/identification_results.md').read_text('utf-8')
    words = re.findall(r'^flexsim identify exp1.csv (.+)$', page, re.MULTILINE)[0].split()
    return (
        words[0],
        [words[k + 1] for k, word in enumerate(words) if word == '--signal'],
        (words[words.index('--free') + 1].split(',')),
    )


def of_model(folder, first, second):
    """Shares of the second log by a fit to the first."""
    robot, signals, free = command()
    description = frs.read_description((ROOT / robot).read_text('utf-8'))
    arm = build_arm(description)
    logs = [
        make_data_set([read_log(Path(folder) / name, signals)], arm, True)
        for name in (first, second)
    ]
    return identify(
        Setup(description, logs[0], time_step=0.005), free, logs[1].sequences
    ).validation_variance


def inputs(table, more):
    """Inputs of a regression, (k, m)."""
    q2, q3, w2, w3 = (table[:, k] for k in (2, 3, 5, 6))
    a2, a3 = (savgol_filter(w, 5, 2, deriv=1, delta=PERIOD) for w in (w2, w3))
    still = [f(q) for q in (q2, q3, q2 + q3) for f in (np.cos, np.sin)]
    late = [
        w2,
        w3,
        a2,
        a3,
        a2 * np.cos(q3),
        a2 * np.sin(q3),
        a3 * np.cos(q3),
        w2 * w3,
        w2**2 * np.sin(q3),
        w2**2 * np.cos(q3),
        (w2 + w3) ** 2 * np.sin(q3),
        np.tanh(w2 / 0.02),
        np.tanh(w3 / 0.02),
    ]
    if more == 'currents':
        late += [table[:, 8], table[:, 9]]
    if more == 'noise of link2/eps22':
        late.append(
            sosfiltfilt(
                butter(4, ABOVE, 'high', fs=1 / PERIOD, output='sos'),
                table[:, COLUMNS['link2/eps22']],
            )
        )
    at = np.arange(len(table))
    return np.column_stack(
        [*still, *(values[np.clip(at - lag, 0, len(at) - 1)] for values in late for lag in LAGS)]
    )


def of_regression(first, second, more=''):
    """Shares of the gauges in the second table by ridges over the first."""
    X, other = inputs(first, more), inputs(second, more)
    mean, size = X.mean(axis=0), X.std(axis=0) + 1e-12
    X, other = (X - mean) / size, (other - mean) / size
    out = {}
    for name, k in COLUMNS.items():
        if more.endswith(name):
            continue
        y, z = first[:, k], second[:, [k]]
        shares = []
        for ridge in RIDGES:
            w = np.linalg.solve(
                X.T @ X / len(X) + ridge * np.eye(X.shape[1]), X.T @ (y - y.mean()) / len(X)
            )
            said = (other @ w)[:, None]
            shares.append(
                explainable(
                    (z - said).var(axis=0),
                    z.var(axis=0),
                    said.var(axis=0),
                    noise_floor([z]).variance,
                    z.var(axis=0),
                    noise_floor([z]).scatter,
                ).explained[0]
            )
        out[name] = max(shares)
    return out


def shares_of(folder):
    """Return explained shares by method, direction and gauge."""
    tables = {name: np.loadtxt(Path(folder) / name, delimiter=',') for name in LOGS}
    out = {}
    for first, second in (LOGS, LOGS[::-1]):
        ways = {'model': of_model(folder, first, second)}
        ways |= {
            f'regression{more and f", {more}"}': of_regression(tables[first], tables[second], more)
            for more in ('', 'currents', 'noise of link2/eps22')
        }
        out[f'{first} to {second}'] = {
            way: {name: round(float(share), 3) for name, share in shares.items()}
            for way, shares in ways.items()
        }
    return out
