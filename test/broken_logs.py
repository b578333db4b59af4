"""A table of samples, written to a text file in many broken ways."""

import codecs
import gzip

import numpy as np


def lines(times, columns, separator=',', header='time', digits=6):
    """Return the lines of a table; `columns` are values by name."""
    first = separator.join([header, *columns])
    rows = (
        separator.join([f'{time:.{digits}f}', *(f'{value:.9g}' for value in values)])
        for time, *values in zip(times, *columns.values())
    )
    return [first, *rows]


def text(*arguments, **settings):
    """Return the text of a table."""
    return '\n'.join(lines(*arguments, **settings)) + '\n'


def with_rows(change):
    """Return a way to write a table whose rows are changed by a function of lists of lines."""

    def write(times, columns):
        first, *rows = lines(times, columns)
        return '\n'.join([first, *change(rows)]) + '\n'

    return write


def with_times(change):
    """Return a way to write a table whose times (k,) are changed by a function."""
    return lambda times, columns: text(change(times), columns)


def late(times, jump):
    """Return times that jump by some periods in their middle."""
    half = len(times) // 2
    return times + jump * (times[1] - times[0]) * (np.arange(len(times)) >= half)


def replaced_at_first(word, count=40):
    """Return a way to write a table whose last column begins with a word in some rows."""
    return with_rows(
        lambda rows: [
            f'{row.rpartition(",")[0]},{word}' if k < count else row for k, row in enumerate(rows)
        ]
    )


def with_twins(change):
    """Return a way to write a table whose last column appears twice, the second one changed."""

    def write(times, columns):
        name, values = [*columns.items()][-1]
        content = text(times, {**columns, 'twin': change(values)})
        return content.replace('twin', name, 1)

    return write


def with_text(times, columns):
    """Return the text of a table with a column of words."""
    first, *rows = lines(times, columns)
    return '\n'.join([f'{first},mode', *(f'{row},running' for row in rows)]) + '\n'


# the same samples, and what the only note about them says
HARMLESS = {
    'plain': (text, ''),
    'milliseconds': (lambda t, c: text(1e3 * t, c), '"time" is taken to be in ms, as its period'),
    'microseconds': (lambda t, c: text(1e6 * t, c), '"time" is taken to be in us, as its period'),
    'nanoseconds': (lambda t, c: text(1e9 * t, c, header='t_ns'), '"t_ns" is in ns'),
    'gzip': (lambda t, c: gzip.compress(text(t, c).encode()), ''),
    'tabs': (lambda t, c: text(t, c, '\t'), ''),
    'semicolons': (lambda t, c: text(t, c, ';'), ''),
    'decimal commas': (lambda t, c: text(t, c, ';').replace('.', ','), 'has decimal commas'),
    'comments': (lambda t, c: f'# Logger 3.1\n% rig 2, today\n\n{text(t, c)}', ''),
    'byte order mark': (lambda t, c: codecs.BOM_UTF8 + text(t, c).encode(), ''),
    'repeated stamps': (
        with_rows(lambda rows: [row for k, row in enumerate(rows) for _ in range(1 + (k == 50))]),
        '1 rows with repeated stamps are left out',
    ),
    'a constant column': (lambda t, c: text(t, {'voltage': 24 + 0 * t, **c}), ''),
    'two equal columns': (with_twins(lambda values: values), 'has two equal columns'),
    'a column of text': (with_text, 'columns of text are left out: mode'),
    'a cut end': (lambda t, c: text(t, c)[:-15], 'its last line is cut off and left out'),
}

# a line that refuses the file
HOPELESS = {
    'an empty file': (lambda t, c: '', 'is empty. Give a CSV file with a header and rows'),
    'a header only': (
        lambda t, c: lines(t, c)[0] + '\n',
        'has no rows of numbers. Give a header and rows of numbers.',
    ),
    'binary': (
        lambda t, c: np.random.default_rng(0).bytes(4096),
        'cannot be read: no text. Give a CSV or MCAP file.',
    ),
    'cut off gzip': (
        lambda t, c: gzip.compress(text(t, c).encode())[:-40],
        'is cut off or damaged: ',
    ),
    'two different columns': (
        with_twins(lambda values: 2 * values),
        'that differ. Rename one of them.',
    ),
    'rows of unequal length': (
        with_rows(lambda rows: [*rows[:30], rows[30].rpartition(',')[0], *rows[31:]]),
        ':32: is not',
    ),
    'words among numbers': (
        with_rows(lambda rows: [*rows[:30], rows[30] + 'x', *rows[31:]]),
        ':32: is not',
    ),
    'time that runs backwards': (
        with_times(lambda times: times[::-1]),
        'ive one recording at a time.',
    ),
    'two recordings': (with_rows(lambda rows: [*rows, *rows]), 'ive one recording at a time.'),
}


def expect_notes(path, notes, note):
    """Expect one note on a file with these words, or none without words."""
    assert len(notes) == bool(note)
    assert all(line.startswith(f'{path}: ') and note in line for line in notes)


def expect_refusal(result, program, line):
    """Expect that a program has refused a file in one line; `result` is that of its test."""
    code, summary, said, path = result
    assert (code, summary, said.count('\n')) == (2, None, 1)
    assert said.startswith(f'{program}: {path}') and line in said
