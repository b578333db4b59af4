"""Any CSV file is a log or a one-line error; a log that was written is read."""

import csv

import pytest

pytest.importorskip('hypothesis')

from hypothesis import example, given
from hypothesis import strategies as st
from random_cases import cases

from flex_robot_sim.identification.log_file import read_log
from flex_robot_sim.util.exceptions import UsageError

labels = st.text(
    st.characters(blacklist_categories=('Cs', 'Cc')) | st.sampled_from('\x0b\x85\u2028,"'),
    min_size=1,
    max_size=12,
)
numbers = st.floats(allow_nan=False, width=64)


@pytest.fixture(scope='module')
def path(tmp_path_factory):
    return tmp_path_factory.mktemp('logs') / 'log.csv'


@pytest.mark.slow
@cases(100)
@given(names=st.lists(labels, min_size=1, max_size=4, unique=True), data=st.data())
def test_a_csv_file_of_any_names_and_numbers_is_read_as_it_was_written(path, names, data):
    names = [*dict.fromkeys(name.strip() for name in names)]
    names = [f'signal {name}' for name in names]
    rows = data.draw(
        st.lists(
            st.lists(numbers, min_size=len(names), max_size=len(names)), min_size=1, max_size=6
        )
    )
    with open(path, 'w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(['time', *names])
        writer.writerows([k, *map(repr, row)] for k, row in enumerate(rows))
    log = read_log(path)
    for name, values in zip(names, zip(*rows)):
        found = log.columns[name.strip()]
        assert [value.hex() for value in found.values.tolist()] == [v.hex() for v in values]
        assert found.time.tolist() == [*range(len(rows))]


pieces = st.sampled_from(
    ['time', 't', ',', ',', '\n', '\r', '\r\n', '"', '#', ';', '1', '-2.5', 'nan', '1e999', '\0']
    + ['\x0b', '\x85', '\u2028', ' ', 'a', '# {"format"', '\t', '1_0', '\ufeff']
)


@pytest.mark.slow
@cases(200)
@given(content=st.lists(pieces, max_size=40).map(''.join) | st.text(max_size=60))
@example(content=f'time,{"a" * 200_000}\n1,2\n')
@example(content='time,"a\n1,2\n')
@example(content='time,a\r1,2\r')
def test_any_text_is_a_log_or_a_one_line_error(path, content):
    path.write_bytes(content.encode('utf-8', 'surrogatepass'))
    try:
        log = read_log(path)
    except UsageError as error:
        assert '\n' not in str(error)
        return
    for column in log.columns.values():
        assert column.time.shape == column.values.shape


@cases(100)
@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_log_or_a_one_line_error(path, content):
    path.write_bytes(content)
    try:
        read_log(path)
    except UsageError as error:
        assert '\n' not in str(error)
