"""
Datasets of LeRobot: folders with meta/info.json and Parquet files in data/.

A recording is one episode. Columns are named as in meta/info.json:
`observation.state/shoulder_pan.pos`.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from flex_robot_sim.recording.read import parquet
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.util.exceptions import UsageError

INFO = Path('meta') / 'info.json'
CLOCK, EPISODE, STATE = 'timestamp', 'episode_index', 'observation.state'
COUNTERS = 'frame_index', 'index', 'task_index', EPISODE, CLOCK
MAX_INFO_BYTES = 10 * 2**20


def sniff(path: Path, head: bytes) -> bool:
    """Whether `path` is a dataset, or a file that begins with `head` is one of its data."""
    if path.is_dir():
        return (path / INFO).is_file()
    return parquet.sniff(path, head) and _folder_of(path) is not None


def read(path: Path) -> Recording:
    """Return the Recording of the first episode; UsageError if the dataset has none."""
    folder = path if path.is_dir() else _folder_of(path)
    files = [path] if path.is_file() else sorted((path / 'data').glob('**/*.parquet'))
    if not files:
        raise UsageError(
            f'{path}: has no data/*/*.parquet. Download the data of the dataset, too.'
        )
    features = _features(folder / INFO)
    columns = parquet.read_columns(files[0])
    if CLOCK not in columns:
        raise UsageError(f'{files[0]}: has no column "{CLOCK}". Give a dataset of LeRobot.')
    notes = []
    rows = np.ones(len(columns[CLOCK]), bool)
    if EPISODE in columns:
        rows = columns[EPISODE] == columns[EPISODE][0]
        others = len(files) > 1 or not rows.all()
        if others:
            notes.append(
                f'{path}: has several episodes; only the first one of {files[0].name} is read'
            )
    times = columns[CLOCK][rows]
    recording = Recording(str(path), {}, notes)
    for name, values in columns.items():
        if name not in COUNTERS:
            for item, column in _named(name, values[rows], features.get(name)):
                recording.columns[item] = Column(times, column)
    states = tuple(name for name in recording.columns if name.startswith(f'{STATE}/'))
    return recording._replace(default_columns=states)


def _folder_of(path):
    """Return the folder of the dataset that a data file belongs to, or None."""
    return next((folder for folder in path.parents[:4] if (folder / INFO).is_file()), None)


def _features(path):
    """Return the features in meta/info.json; UsageError if it is invalid."""
    try:
        with open(path, encoding='utf-8') as file:
            features = json.loads(file.read(MAX_INFO_BYTES))['features']
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f'{path}: is no description of a dataset of LeRobot. Download it again.'
        ) from error
    return features if isinstance(features, dict) else {}


def _named(name, values, feature):
    """Yield names and columns of the items of a feature."""
    if values.ndim == 1:
        yield f'{name}/0' if name in (STATE, 'action') else name, values
        return
    names = feature.get('names') if isinstance(feature, dict) else None
    if isinstance(names, dict):  # {"motors": [...]} in older versions
        names = next(iter(names.values()), None)
    count = values.shape[1]
    if not isinstance(names, list) or len({*map(str, names)}) != count:
        names = range(count)
    for item, column in zip(names, values.T):
        yield f'{name}/{item}', column
