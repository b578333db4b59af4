"""
Efforts of the motors over time, from a few words or a table.

    1.5                     constant
    step:2@0.5              2 from 0.5 s on
    bang:2@0.5,1.5,2.5      2 from 0.5 s, -2 from 1.5 s, nothing from 2.5 s on
    sine:2@1.5              2 sin(2 pi 1.5 t)
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.files import read_bytes

_NUMBER = r'[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?'
_FORM = re.compile(rf'(?:(step|bang|sine):)?({_NUMBER})(?:@({_NUMBER}(?:,{_NUMBER})*))?')
MAX_TIME_OR_FREQUENCY = 1e12  # [s] or [Hz]
_TIME_COUNTS = {None: 0, 'step': 1, 'bang': 3, 'sine': 1}


def effort_function(words: str) -> Callable[[float], float]:
    """Return the effort [N m, N] as a function of time [s], specified by `words`."""
    match = _FORM.fullmatch(words.strip())
    form, amplitude, times = match.groups() if match else ('', '', '')
    times = [float(time) for time in (times or '').split(',') if time]
    if (
        not match
        or len(times) != _TIME_COUNTS[form]
        or times != sorted(times)
        or not abs(float(amplitude)) < float('inf')
        or not all(abs(t) < MAX_TIME_OR_FREQUENCY for t in times)
    ):
        raise SettingError(
            f'effort "{words}" is none of 1.5, step:SIZE@START, '
            'bang:SIZE@START,TURN,END, sine:SIZE@FREQUENCY'
        )
    amplitude = float(amplitude)
    if form == 'sine':
        return lambda t: amplitude * math.sin(2 * math.pi * times[0] * t)
    if form == 'step':
        return lambda t: amplitude if t >= times[0] else 0.0
    if form == 'bang':
        start, turn, end = times
        return lambda t: amplitude if start <= t < turn else -amplitude if turn <= t < end else 0.0
    return lambda t: amplitude


def effort_of_words(
    assignments: Iterable[str], joint_names: Sequence[str]
) -> Callable[[float], np.ndarray]:
    """
    Return the function from time [s] to all efforts (joints,).

    :param assignments: 'JOINT=WORDS'; other joints have no effort.
    """
    functions = {}
    for assignment in assignments:
        joint, _, words = assignment.partition('=')
        if joint not in joint_names:
            raise SettingError(f'no joint "{joint}". Known: {", ".join(joint_names)}')
        if joint in functions:
            raise SettingError(f'joint "{joint}" gets two efforts. Give one')
        functions[joint] = effort_function(words)
    chosen = [functions.get(name, lambda t: 0.0) for name in joint_names]
    return lambda t: np.array([function(t) for function in chosen])


def effort_of_table(path: str | Path, joint_names: Sequence[str]) -> Callable[[float], np.ndarray]:
    """
    Return the function from time [s] to all efforts, linear between the rows of a CSV file.

    :param path: the first row contains `time` and joint names. Efforts before the first and after
        the last row are zero.
    """
    try:
        text = io.StringIO(read_bytes(path).decode('utf-8-sig'), newline='')
        header, *rows = [row for row in csv.reader(text) if row] or [[]]
        table = np.array([[float(cell) for cell in row] for row in rows], float)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f'{path}: {getattr(error, "strerror", None) or "not UTF-8"}') from error
    except (csv.Error, ValueError) as error:
        raise SettingError(
            f'{path}: every row needs a number for time and for every joint that '
            'the first row names'
        ) from error
    known = {'time', *joint_names}
    if (
        table.shape != (max(len(rows), 1), len(header))
        or not np.isfinite(table).all()
        or 'time' not in header
        or len(set(header) & known) < len(header)
        or np.any(np.diff(table[:, header.index('time')]) <= 0)
    ):
        raise SettingError(
            f'{path}: needs the columns time (rising) and joints among '
            f'{", ".join(joint_names)}, each once, all finite'
        )
    times = table[:, header.index('time')]
    efforts = [
        table[:, header.index(name)] if name in header else np.zeros(len(times))
        for name in joint_names
    ]
    return lambda t: np.array(
        [np.interp(t, times, values, left=0.0, right=0.0) for values in efforts]
    )
