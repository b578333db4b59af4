"""Files of reduced links: what is written is read, and damaged files are refused in one line."""

import numpy as np
import pytest
from reduced_links import example_link

from flex_robot_sim.reduction.reduced_file import (
    FORMAT,
    ReducedFileError,
    read_reduced,
    write_reduced,
)
from flex_robot_sim.reduction.reduced_link import ARRAYS

REMEDY = 'Write the file again with "flexsim reduce".'


@pytest.fixture
def path(tmp_path):
    path = tmp_path / 'arm.reduced.npz'
    write_reduced(path, example_link())
    return path


def arrays_of(path):
    with np.load(path) as archive:
        return dict(archive)


def test_a_written_link_is_read(path):
    written, read = example_link(), read_reduced(path, 'upper_arm')
    assert read.station_names == ('elbow', 'camera') and read.options == '{"modes": 6}'
    assert read.mass == written.mass and (read.size, read.soft) == (5, 2)
    for item in ARRAYS:
        assert np.array_equal(getattr(read, item.name), getattr(written, item.name)), item.name


def test_a_truncated_link_has_the_first_coordinates():
    link = example_link()
    short = link.truncated(1)
    assert (short.size, short.soft) == (1, 1)
    assert short.X.shape == (1, 1, 1) and short.station_second.shape == (2, 1, 1, 6)
    assert np.array_equal(short.h1, link.h1[:1, :1])


@pytest.mark.parametrize(
    'change, problem',
    [
        ({'format': np.array('points/3')}, 'this is no reduced link'),
        (
            {'format': np.array('flexsim-reduced/2')},
            f'its format is flexsim-reduced/2, and this program reads {FORMAT}',
        ),
        ({'K': None}, 'it has no K'),
        ({'h0': np.zeros((4, 3))}, 'h0 has 4 rows where 5 are due'),
        ({'S0': np.zeros((3, 1))}, 'S0 has 2 dimensions, and not 1'),
        ({'S0': np.zeros(3, int)}, 'S0 has numbers of the type int64, and not float64'),
        ({'J0': np.full((3, 3), np.nan)}, 'J0 has numbers that are not finite'),
        ({'mass': np.array(-1.0)}, 'its mass or its stiffness is not positive'),
        ({'K': -np.eye(5)}, 'its mass or its stiffness is not positive'),
        ({'link': np.array(3)}, 'link is no text'),
        ({'station_names': np.array(['elbow'])}, 'its arrays do not fit together'),
        (
            {'surface_triangles': np.array([[0, 1, 9]], np.int32)},
            'its triangles have points that it has not',
        ),
    ],
)
def test_a_wrong_archive_is_refused(path, change, problem):
    arrays = arrays_of(path) | change
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    with pytest.raises(ReducedFileError) as caught:
        read_reduced(path)
    assert str(caught.value) == f'{path}: {problem}. {REMEDY}'


def test_a_file_of_another_link_is_refused(path):
    with pytest.raises(ReducedFileError, match='it is of link "upper_arm", and not of "forearm"'):
        read_reduced(path, 'forearm')


def test_pickled_objects_are_not_loaded(path):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ('code of the file ran',)

    np.savez(path, format=np.array(FORMAT), K=np.array([Trap()], object))
    with pytest.raises(ReducedFileError, match='this is no reduced link'):
        read_reduced(path)


def test_damaged_files_are_refused_in_one_line(path):
    content = path.read_bytes()
    for start in range(0, len(content), 997):
        path.write_bytes(content[:start] + b'\xff' * 9 + content[start + 9 :])
        try:  # bytes between the members of an archive have no meaning
            assert read_reduced(path).link
        except ReducedFileError as error:
            assert '\n' not in str(error)
    for length in range(0, len(content), 997):
        path.write_bytes(content[:length])
        with pytest.raises(ReducedFileError):
            read_reduced(path)
