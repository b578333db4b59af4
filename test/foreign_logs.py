"""A table of samples, written to files by programs other than ours."""

import csv
import io

import numpy as np
import pytest
from message_texts import HEADER_TEXT

JOINT_STATE = (
    """std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
"""
    + HEADER_TEXT
)


def by_pandas(**settings):
    """Return a way to write a table by pandas."""

    def write(path, times, columns):
        pandas = pytest.importorskip('pandas')
        settings.setdefault('index', False)
        pandas.DataFrame({'time': times, **columns}).to_csv(path, **settings)

    return write


def by_numpy(**settings):
    """Return a way to write a table by numpy."""

    def write(path, times, columns):
        header = settings.get('delimiter', ' ').join(['time', *columns])
        table = np.column_stack([times, *columns.values()])
        np.savetxt(path, table, **{'header': header, **settings})

    return write


def by_csv(dialect, encoding='utf-8'):
    """Return a way to write a table by the module csv."""

    def write(path, times, columns):
        text = io.StringIO()
        writer = csv.writer(text, dialect)
        writer.writerow(['time', *columns])
        writer.writerows(zip(times.tolist(), *(values.tolist() for values in columns.values())))
        path.write_bytes(text.getvalue().encode(encoding))

    return write


# program and settings: how it writes a table, and the note about the file
TABLES = {
    'pandas': (by_pandas(), ''),
    'pandas with its index': (by_pandas(index=True), ''),
    'pandas as in German': (by_pandas(sep=';', decimal=','), 'has decimal commas'),
    'pandas with tabs in UTF-16': (by_pandas(sep='\t', encoding='utf-16'), ''),
    'pandas with quotes': (by_pandas(quoting=csv.QUOTE_ALL), ''),
    'savetxt': (by_numpy(), ''),
    'savetxt with commas': (by_numpy(delimiter=','), ''),
    'savetxt with a plain header': (by_numpy(delimiter='\t', comments=''), ''),
    'csv of Excel': (by_csv('excel', 'utf-8-sig'), ''),
    'csv of Excel with tabs': (by_csv('excel-tab', 'utf-16'), ''),
    'csv of Unix': (by_csv('unix'), ''),
}


def write_joint_states(path, times, topics):
    """
    Write messages of type JointState by mcap_ros2.

    :param topics: topic -> field -> values (k,) by name.
    """
    writer_of = pytest.importorskip('mcap_ros2.writer')
    with open(path, 'wb') as file:
        writer = writer_of.Writer(file)
        schema = writer.register_msgdef('sensor_msgs/msg/JointState', JOINT_STATE)
        for k, time in enumerate(times):
            stamp = 1_700_000_000 * 10**9 + round(time * 1e9)
            parts = {'sec': stamp // 10**9, 'nanosec': stamp % 10**9}
            for topic, fields in topics.items():
                names = [*dict.fromkeys(name for field in fields.values() for name in field)]
                message = {'header': {'stamp': parts, 'frame_id': ''}, 'name': names}
                for field in ('position', 'velocity', 'effort'):
                    values = fields.get(field, {})
                    message[field] = [float(values[name][k]) for name in names if values]
                writer.write_message(topic, schema, message, log_time=stamp, publish_time=stamp)
        writer.finish()
