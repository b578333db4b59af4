"""
Reduced links as files: NumPy archives (.npz) without pickled objects.

The archive has `format`, and one array for each field of `ReducedLink`, under its name. Texts are
arrays without dimension, `station_names` is an array of texts.
"""

import hashlib
import io
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.util.exceptions import FlexRobotSimError, plain
from flex_robot_sim.util.files import open_atomic, read_bytes

FORMAT = 'flexsim-reduced/1'
KIND = 'flexsim-reduced/'  # of all versions
MAX_BYTES = 2**29  # of a file, and of its arrays together


class ReducedFileError(FlexRobotSimError):
    """A file is no usable reduced link; the message says which, why and what to do."""

    def __init__(self, path: str | Path, problem: str) -> None:
        remedy = 'Write the file again with "flexsim reduce"'
        super().__init__(f'{plain(path)}: {plain(problem)}. {remedy}.')


def write_reduced(path: str | Path, link: ReducedLink) -> None:
    """Write a reduced link; OSError if that fails, and then no file is left."""
    arrays: dict[str, Any] = {
        item.name: np.asarray(getattr(link, item.name)) for item in fields(ReducedLink)
    }
    with open_atomic(path, 'wb') as file:
        np.savez_compressed(file, format=np.array(FORMAT), **arrays)


def read_reduced(path: str | Path, link: str = '') -> ReducedLink:
    """
    Return the reduced link of a file; ReducedFileError if it is unusable, OSError if unreadable.

    :param link: name that the link must have, after any prefix; '': any.
    """
    arrays = _arrays(path, read_bytes(path, MAX_BYTES))
    found = str(arrays.get('format', ''))
    if not found.startswith(KIND):
        raise ReducedFileError(path, 'this is no reduced link')
    if found != FORMAT:
        raise ReducedFileError(path, f'its format is {found}, and this program reads {FORMAT}')
    missing = [item.name for item in fields(ReducedLink) if item.name not in arrays]
    if missing:
        raise ReducedFileError(path, f'it has no {missing[0]}')
    values: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for item in fields(ReducedLink):
        try:
            values[item.name] = _value(arrays[item.name], item, sizes)
        except ValueError as error:
            raise ReducedFileError(path, f'{item.name} {error}') from None
    if link and not (values['link'] and link.endswith(values['link'])):
        raise ReducedFileError(path, f'it is of link "{values["link"]}", and not of "{link}"')
    if sizes['k'] != len(values['station_names']) or sizes['s'] > sizes['n']:
        raise ReducedFileError(path, 'its arrays do not fit together')
    if values['surface_triangles'].size and not (
        0 <= values['surface_triangles'].min() <= values['surface_triangles'].max() < sizes['v']
    ):
        raise ReducedFileError(path, 'its triangles have points that it has not')
    if not values['mass'] > 0.0 or np.any(np.linalg.eigvalsh(values['K']) <= 0.0):
        raise ReducedFileError(path, 'its mass or its stiffness is not positive')
    return ReducedLink(**values)


def content_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file, which recordings store with a robot."""
    return hashlib.sha256(read_bytes(path, MAX_BYTES)).hexdigest()


def _arrays(path, content):
    """Return the arrays of an archive by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # sizes after decompression: a small file can claim many gigabytes
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise ReducedFileError(path, f'it holds more than {MAX_BYTES >> 20} MB')
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError, OSError, NotImplementedError) as e:
        raise ReducedFileError(path, 'this is no reduced link') from e
    except Exception as error:  # zlib.error, and what a damaged header causes
        raise ReducedFileError(path, 'it is damaged') from error


def _value(array: np.ndarray, item: Any, sizes: dict[str, int]) -> Any:
    """Return the value of a field; ValueError with the reason if the array is no such value."""
    if 'shape' not in item.metadata:
        if item.name == 'mass':
            _expect(array.shape == () and array.dtype.kind == 'f', 'is no number')
            return float(array)
        _expect(array.dtype.kind == 'U' or array.size == 0, 'is no text')
        if item.name == 'station_names':
            return tuple(map(str, array.ravel()))
        return str(array)
    shape, kind = item.metadata['shape'], np.dtype(item.metadata['dtype'])
    _expect(array.dtype == kind, f'has numbers of the type {array.dtype}, and not {kind}')
    _expect(array.ndim == len(shape), f'has {array.ndim} dimensions, and not {len(shape)}')
    for length, letter in zip(array.shape, shape):
        expected = letter if isinstance(letter, int) else sizes.setdefault(letter, length)
        _expect(length == expected, f'has {length} rows where {expected} are due')
    _expect(bool(np.all(np.isfinite(array))), 'has numbers that are not finite')
    return array


def _expect(is_right: bool, fault: str) -> None:
    if not is_right:
        raise ValueError(fault)
