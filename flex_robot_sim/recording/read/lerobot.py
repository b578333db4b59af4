"""
Datasets of LeRobot: folders with meta/info.json and Parquet files in data/.

A recording is one episode: the first one, or number 3 of `DATASET#3`. Columns are named as in
meta/info.json: `observation.state/shoulder_pan.pos`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np

from flex_robot_sim.recording.read import parquet
from flex_robot_sim.recording.read.columns import Column, Recording
from flex_robot_sim.util.exceptions import UsageError

INFO = Path('meta') / 'info.json'
CLOCK, EPISODE, STATE = 'timestamp', 'episode_index', 'observation.state'
COUNTERS = 'frame_index', 'index', 'task_index', EPISODE, CLOCK
NUMBERED = re.compile(r'(.+)#(\d{1,9})')
MAX_INFO_BYTES = 10 * 2**20


def sniff(path: Path, head: bytes) -> bool:
    """Whether `path` is a dataset, or a file that begins with `head` is one of its data."""
    path, _ = split_episode(path)
    if path.is_dir():
        return (path / INFO).is_file()
    return parquet.sniff(path, head) and _folder_of(path) is not None


def split_episode(path: Path) -> tuple[Path, int | None]:
    """Return the path of a dataset and the number of an episode, or None."""
    match = NUMBERED.fullmatch(path.name)
    if match is None or path.exists():
        return path, None
    return path.with_name(match[1]), int(match[2])


def read(path: Path) -> Recording:
    """Return the Recording of an episode; UsageError if the dataset has none."""
    path, wanted = split_episode(path)
    folder = path if path.is_dir() else _folder_of(path)
    files = [path] if path.is_file() else sorted((path / 'data').glob('**/*.parquet'))
    if not files:
        raise UsageError(
            f'{path}: has no data/*/*.parquet. Download the data of the dataset, too.'
        )
    features = _features(folder / INFO)
    columns, rows = _episode(path, files, wanted)
    notes = []
    if wanted is None and (len(files) > 1 or not rows.all()):
        notes.append(
            f'{path}: has several episodes; only the first one of {files[0].name} is read. Name '
            f'another one by its number, such as {path}#1'
        )
    times = columns[CLOCK][rows]
    recording = Recording(str(path), {}, notes)
    for name, values in columns.items():
        if name not in COUNTERS:
            for item, column in _named(name, values[rows], features.get(name)):
                recording.columns[item] = Column(times, column)
    states = tuple(name for name in recording.columns if name.startswith(f'{STATE}/'))
    return recording._replace(default_columns=states)


def _episode(path, files, wanted):
    """Return the columns of the file with an episode, and its rows."""
    for file in files:
        columns = parquet.read_columns(file)
        if CLOCK not in columns:
            raise UsageError(f'{file}: has no column "{CLOCK}". Give a dataset of LeRobot.')
        episodes = columns.get(EPISODE, np.zeros(len(columns[CLOCK])))
        rows = episodes == (episodes[0] if wanted is None else wanted)
        if rows.any():
            return columns, rows
    raise UsageError(f'{path}: has no episode {wanted}. The first one has the number 0.')


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
