"""Recordings of any names and values: all is read back, and a cut costs only the end."""

import csv
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mcap')
pytest.importorskip('hypothesis')

from hypothesis import given
from hypothesis import strategies as st
from random_cases import cases

from flex_robot_sim.recording.export import write_tables
from flex_robot_sim.recording.mcap_file import RecordingReader, RecordingWriter
from flex_robot_sim.recording.messages import JOINT_STATE, SECOND, TEXT, TEXTS, joint_state, text
from flex_robot_sim.recording.tables import read_tables
from flex_robot_sim.util.exceptions import UsageError

texts = st.text(st.characters(blacklist_categories=('Cs',)), max_size=12)
labels = st.text(st.characters(blacklist_categories=('Cs',)), min_size=1, max_size=12)
numbers = st.floats(allow_nan=True, allow_infinity=True, width=64)


@st.composite
def runs(draw):
    """Draw names of joints, rows of their positions, and texts between them."""
    names = draw(st.lists(labels, min_size=1, max_size=4, unique=True))
    row = st.lists(numbers, min_size=len(names), max_size=len(names))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return names, rows, draw(st.lists(texts, max_size=4)), draw(st.booleans())


def write(path, run):
    """Write a recording, in one chunk or in one for each message."""
    names, rows, notes, is_flushed = run
    writer = RecordingWriter(path, {'note': ''.join(notes)})
    topic = writer.topic('/joint states', JOINT_STATE, TEXTS[JOINT_STATE])
    for k, row in enumerate(rows, 1):
        writer.write(topic, k * SECOND, joint_state(k * SECOND, names, row))
        if is_flushed:
            writer.flush()
    for k, note in enumerate(notes, len(rows) + 1):
        writer.write(writer.topic('/text', TEXT, TEXTS[TEXT]), k * SECOND, text(note))
    writer.close()


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('recordings')


def without_zeros(text):
    """Return a text as CSV and NumPy files have it: they cannot hold the character 0."""
    return text.replace('\0', '\ufffd')


def is_same(found, expected):
    """Whether numbers are the same bit for bit; nan is nan."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    return found.shape == expected.shape and all(
        math.isnan(a) and math.isnan(b) or a.hex() == b.hex() for a, b in zip(found, expected)
    )


@pytest.mark.slow
@cases(40)
@given(run=runs())
def test_all_names_values_and_texts_are_read_back_from_all_formats(folder, run):
    names, rows, notes, _ = run
    path = folder / 'run.mcap'
    write(path, run)
    reader = RecordingReader(path)
    tables = {table.topic.name: table for table in read_tables(reader).tables}
    assert reader.notes == [] and reader.about['note'] == ''.join(notes)
    columns = tables['/joint states'].columns
    for name, values in zip(names, zip(*rows)):
        assert is_same(columns[f'position/{name}'], values)
    if notes:
        assert [*tables['/text'].columns['data']] == notes
    everything = [*tables.values()]
    files = write_tables(everything, folder / 'csv', 'csv', is_new=False)
    with open(
        files[everything.index(tables['/joint states'])], newline='', encoding='utf-8'
    ) as file:
        cells = [*csv.reader(file)]
    for name, values in zip(names, zip(*rows)):
        place = cells[0].index(f'position/{without_zeros(name)}')
        assert is_same([float(row[place] or 'nan') for row in cells[1:]], values)
    if notes:
        with open(files[everything.index(tables['/text'])], newline='', encoding='utf-8') as file:
            assert [row['data'] for row in csv.DictReader(file)] == [*map(without_zeros, notes)]
    (file,) = write_tables(everything, folder / 'run.npz', 'numpy', is_new=False)
    with np.load(file) as arrays:
        stems = {name.partition('/')[0] for name in arrays.files}
        stem = next(one for one in stems if 'joint' in one)
        for name, values in zip(names, zip(*rows)):
            assert is_same(arrays[f'{stem}/position/{without_zeros(name)}'], values)
        if notes:
            stem = next(one for one in stems if 'text' in one)
            assert arrays[f'{stem}/data'].tolist() == [*map(without_zeros, notes)]


def test_names_that_differ_after_a_zero_character_keep_their_columns(tmp_path):
    write(tmp_path / 'run.mcap', (['a\0b', 'a\0c'], [[1.0, 2.0]], [], False))
    tables = read_tables(RecordingReader(tmp_path / 'run.mcap')).tables
    (file,) = write_tables(tables, tmp_path / 'run.npz', 'numpy')
    with np.load(file) as arrays:
        values = {name: arrays[name].tolist() for name in arrays.files}
    assert values['joint.states/position/a\ufffdb'] == [1.0]
    assert values['joint.states/position/a\ufffdc'] == [2.0]


@pytest.mark.slow
@cases(40)
@given(run=runs(), share=st.floats(0.0, 1.0))
def test_a_cut_recording_keeps_its_beginning(folder, run, share):
    names, rows, _, is_flushed = run
    path = folder / 'cut.mcap'
    write(path, run)
    whole, counts = path.read_bytes(), []
    for size in sorted({9, 9 + round(share * (len(whole) - 9)), len(whole) - 9, len(whole)}):
        path.write_bytes(whole[:size])
        reader = RecordingReader(path)
        tables = [one for one in read_tables(reader).tables if one.topic.name == '/joint states']
        found: Any = tables[0].columns[f'position/{names[0]}'] if tables else []
        assert is_same(found, [row[0] for row in rows[: len(found)]])
        assert size == len(whole) or reader.notes or len(found) == len(rows)
        counts.append(len(found))
    assert counts == sorted(counts) and counts[-1] == len(rows)


@cases(100)
@given(data=st.binary(max_size=200), has_start=st.booleans())
def test_any_bytes_are_a_recording_or_a_one_line_error(folder, data, has_start):
    path = folder / 'bytes.mcap'
    path.write_bytes(b'\x89MCAP0\r\n' * has_start + data)
    try:
        reader = RecordingReader(path)
        read_tables(reader)
    except UsageError as error:
        assert '\n' not in str(error)
