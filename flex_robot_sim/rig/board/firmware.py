"""Firmware files: sources, build, and addresses of symbols."""

import fcntl
import os
import shutil
import struct
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path

from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.util.share import share_folder

COMPILER = 'arm-none-eabi-gcc'
TOOLS = {'make': 'make', COMPILER: 'gcc-arm-none-eabi'}
ELF_MAGIC = b'\x7fELF\x01\x01'  # 32 bits, little-endian
SYMBOL_TABLE = 2


def missing_tools(tools: Mapping[str, str]) -> str:
    """
    Return a line with the missing programs and how to install them, or ''.

    :param tools: {program: package of Debian and Ubuntu that has it}.
    """
    packages = sorted({package for tool, package in tools.items() if not shutil.which(tool)})
    if not packages:
        return ''
    missing = ', '.join(tool for tool in tools if not shutil.which(tool))
    return (
        f'{missing} cannot be found. Install it (Debian, Ubuntu: '
        f'sudo apt install --no-install-recommends {" ".join(packages)}).'
    )


def build(target: str = 'emulation', sources: Path | None = None) -> Path:
    """
    Build the firmware, if its sources have changed, and return the path of its ELF file.

    :param target: 'board' or 'emulation'; sources: folder; default: that of the package.
    """
    problem = missing_tools(TOOLS)
    if problem:
        raise RigError(problem)
    sources = Path(sources or share_folder() / 'firmware')
    folder = _build_folder(sources)
    with open(folder / '.lock', 'a') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = subprocess.run(
            ['make', '-s', '-C', sources, target, f'BUILD={folder}'],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    if result.returncode:
        make_output = (
            result.stderr.strip() or result.stdout.strip() or 'make said nothing'
        ).splitlines()
        problem = next((line for line in make_output if 'error' in line.lower()), make_output[-1])
        raise RigError(f'the firmware in {sources} cannot be built: {problem.strip()}')
    return folder / f'{target}.elf'


def symbol_address(path: str | Path, name: str) -> int:
    """Return the address of a symbol in an ELF file of a 32-bit processor."""
    data = Path(path).read_bytes()
    try:
        return _symbols(data)[name]
    except (KeyError, struct.error, ValueError) as error:
        raise RigError(
            f'{path} is no firmware for the emulation: it has no symbol {name}. '
            'Build it with `make -C firmware emulation`.'
        ) from error


def _symbols(data):
    """{name: value} of all symbols (ELF specification 1.2, figures 1-3, 1-8 and 1-15)."""
    if data[:6] != ELF_MAGIC:
        raise ValueError('not an ELF file of 32 bits')
    (table,) = struct.unpack_from('<I', data, 32)
    size, count = struct.unpack_from('<HH', data, 46)
    sections = [struct.unpack_from('<10I', data, table + k * size) for k in range(count)]
    values = {}
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind == SYMBOL_TABLE:
            names = sections[link][4]
            for at in range(offset, offset + length, 16):
                name, value = struct.unpack_from('<II', data, at)
                end = data.index(b'\0', names + name)
                values[data[names + name : end].decode()] = value
    return values


def _build_folder(sources):
    """Return `build` next to the sources, or a folder in the user's cache if that is read-only."""
    folder = sources / 'build'
    if not os.access(folder if folder.exists() else sources, os.W_OK):
        cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
        folder = cache / 'flex_robot_sim_firmware' / f'{zlib.crc32(bytes(sources)):08x}'
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RigError(
            f'{folder} cannot be made: {error.strerror}. Make it writable, or set XDG_CACHE_HOME.'
        ) from error
    return folder
