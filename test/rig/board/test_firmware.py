"""The firmware build: unit tests on the host, both programs, and the C codec."""

import ctypes
import os
import platform
import re
import shutil
import struct
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal

from flex_robot_sim.rig.board import firmware
from flex_robot_sim.rig.wire.binary_layout import layout_of
from flex_robot_sim.rig.wire.frames import FrameReader, encode
from flex_robot_sim.rig.wire.protocol import FRAMES, Header, is_from_board
from flex_robot_sim.util.exceptions import FlexRobotSimError
from flex_robot_sim.util.share import share_folder

pytestmark = pytest.mark.slow

HEADER = layout_of(Header)
SOURCES = share_folder() / 'firmware'
NO_HOST = firmware.missing_tools({'make': 'make', 'gcc': 'gcc'})
NO_CROSS = firmware.missing_tools(firmware.TOOLS)
on_the_host = pytest.mark.skipif(bool(NO_HOST), reason=NO_HOST)
for_the_board = pytest.mark.skipif(bool(NO_CROSS), reason=NO_CROSS)


def run(*words):
    """Run a program, and return its exit code and outputs."""
    return subprocess.run(words, capture_output=True, text=True, check=False)


def make(folder, *targets):
    """Run make and return its output; a failure shows the output."""
    result = run('make', '-s', '-C', SOURCES, f'BUILD={folder}', *targets)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp('firmware')
    return folder, make(folder)


@pytest.fixture(scope='module')
def codec(tmp_path_factory):
    folder = tmp_path_factory.mktemp('codec')
    make(folder, folder / 'host' / 'codec.so')
    library = ctypes.CDLL(str(folder / 'host' / 'codec.so'))
    for function in (library.codec_write, library.codec_read, library.codec_reader_size):
        function.restype = ctypes.c_size_t
    return library


@on_the_host
def test_unit_tests_pass_under_sanitizers(tmp_path):
    said = make(tmp_path, 'check')
    assert 'passed: rules_of_safety_hold_in_a_storm' in said
    # the chip model traps single instructions, which needs this host architecture
    modelled = (platform.system(), platform.machine()) == ('Linux', 'x86_64')
    assert ('passed: stop_button_stops_both_without_a_storm_of_interrupts' in said) == modelled


@for_the_board
def test_make_builds_both_programs_and_prints_their_memory_use(built):
    folder, said = built
    assert (folder / 'board.bin').stat().st_size > 0
    assert (folder / 'emulation.elf').is_file()
    assert 'board.elf' in said and 'flash' in said
    deepest, size = map(int, re.search(r'deepest stack: (\d+) B of (\d+) B', said).groups())
    assert size == 8192
    # the printed call path, without interrupts
    way = [int(frame) for frame in re.findall(r'\w+ (\d+)(?: >|$)', said.splitlines()[-1])]
    assert sum(way) < deepest < size


@for_the_board
@pytest.mark.parametrize('name', ['board', 'emulation'])
def test_program_needs_no_library(built, name):
    unknown = run('arm-none-eabi-nm', '-u', built[0] / f'{name}.elf')
    assert (unknown.returncode, unknown.stdout) == (0, '')


@for_the_board
def test_symbols_agree_with_the_compiler_tools(built):
    elf = built[0] / 'emulation.elf'
    said = run('arm-none-eabi-nm', elf)
    seen = {name: int(value, 16) for value, _, name in map(str.split, said.stdout.splitlines())}
    for name in ('mailbox', 'board_step', 'stack_top'):
        assert firmware.symbol_address(elf, name) & ~1 == seen[name] & ~1  # bit 0: Thumb


@for_the_board
def test_the_vector_table_is_at_its_hardware_address(built):
    folder, _ = built
    words = struct.unpack_from('<98I', (folder / 'board.bin').read_bytes())
    # numbers of the interrupts: reference manual RM0090, table of vectors, plus 16 exceptions
    places = {
        1: 'reset_handler',
        **dict.fromkeys((2, 3, 4, 5, 6, 15), 'crash_handler'),
        16 + 1: 'supply_handler',
        16 + 23: 'switches_handler',
        16 + 28: 'step_pulse_handler',
        16 + 37: 'serial_handler',
        16 + 40: 'switches_handler',
        16 + 70: 'serial_sent_handler',
    }
    elf = folder / 'board.elf'
    assert words[0] == firmware.symbol_address(elf, 'stack_top')
    for place, name in places.items():
        assert words[place] == firmware.symbol_address(elf, name) | 1, name
    assert {place for place, word in enumerate(words) if word} == {0, *places}


@for_the_board
def test_a_recursive_function_has_no_stack_bound(built):
    # grow_stack, a fault of the emulation, is recursive
    graphs = sorted((built[0] / 'target').glob('**/*.ci'))
    result = run('awk', '-v', 'size=8192', '-f', SOURCES / 'tools/stack.awk', *graphs)
    assert (result.returncode, result.stderr) == (1, 'stack: grow_stack calls itself\n')


@for_the_board
def test_a_stack_overflow_leaves_the_memory_range(built):
    # there is no memory below, so the processor traps and overwrites nothing
    elf = built[0] / 'board.elf'
    assert firmware.symbol_address(elf, 'stack_top') == 0x20000000 + 8192
    assert firmware.symbol_address(elf, 'data_begin') >= 0x20000000 + 8192


@pytest.mark.skipif(not shutil.which('make'), reason='needs make')
@pytest.mark.parametrize(
    'words, program, packages',
    [
        (['board', 'CROSS=none-'], 'none-gcc', 'gcc-arm-none-eabi'),
        (['check', 'HOST_CC=none'], 'none', 'gcc libc6-dev'),
    ],
)
def test_make_without_a_compiler_names_the_package_in_one_line(tmp_path, words, program, packages):
    result = run('make', '-C', SOURCES, f'BUILD={tmp_path}', *words)
    assert result.returncode == 2
    assert result.stderr.splitlines()[0] == (
        f'{program} cannot be found. Install it (Debian, Ubuntu: sudo apt install '
        f'--no-install-recommends {packages}).'
    )


@for_the_board
def test_program_for_another_crystal_builds(tmp_path):
    make(tmp_path, 'board', 'CRYSTAL_MHZ=25', 'SUPPLY_MV=3300')


def test_pins_of_the_page_agree_with_the_program():
    page = (SOURCES.parent / 'docs' / 'rig.md').read_text()
    table = page.partition('## Pins')[2].partition('## Wiring')[0]
    pins_on_page = re.findall(r'^\| P(\w)(\d+) \| (\w+)', table, re.MULTILINE)
    code = ''.join(path.read_text() for path in sorted((SOURCES / 'hal/board').glob('*.c')))
    numbers = dict(re.findall(r'(\w+) = (\d+),', code))
    used = re.findall(r'\{GPIO_(\w), (\w+), PIN_(\w+)', code)
    assert sorted((port, int(number)) for port, number, _ in pins_on_page) == sorted(
        (port, int(numbers.get(number, number))) for port, number, _ in used
    )
    outputs = {(port, numbers[number]) for port, number, mode in used if mode == 'OUTPUT'}
    assert outputs == {(port, number) for port, number, word in pins_on_page if word == 'output'}


def messages():
    """Generate frames with arbitrary bytes in their fields."""
    return st.sampled_from(sorted(FRAMES)).flatmap(
        lambda number: st.tuples(
            st.just(number),
            st.integers(0, 255),
            st.integers(0, 65535),
            st.binary(min_size=FRAMES[number].LAYOUT.size, max_size=FRAMES[number].LAYOUT.size),
        )
    )


def c_read(codec, reader, data):
    """Return [(header, bytes of the fields)] of the frames that `data` completes."""
    bodies = ctypes.create_string_buffer(100 * (len(data) // 10 + 1))
    size = codec.codec_read(reader, data, len(data), bodies)
    found, at = [], 0
    while at < size:
        header = HEADER.unpack(bodies.raw[at : at + HEADER.size])
        at += HEADER.size
        end = at + FRAMES[header.id].LAYOUT.size
        found.append((header, bodies.raw[at:end]))
        at = end
    return found


@on_the_host
@settings(max_examples=300)
@given(message=messages())
def test_both_codecs_write_the_same_bytes(codec, message):
    number, session, sequence, fields = message
    out = ctypes.create_string_buffer(200)
    size = codec.codec_write(out, number, session, sequence, fields)
    assert out.raw[:size] == encode(FRAMES[number].LAYOUT.unpack(fields), session, sequence)


@on_the_host
@settings(max_examples=300)
@given(
    chunks=st.lists(st.one_of(messages(), st.binary(max_size=150)), max_size=12),
    wrong=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4),
    cut=st.integers(1, 40),
)
def test_both_codecs_read_the_same_frames_from_damaged_bytes(codec, chunks, wrong, cut):
    data = bytearray()
    for chunk in chunks:
        if isinstance(chunk, bytes):
            data += chunk
        else:
            number, session, sequence, fields = chunk
            out = ctypes.create_string_buffer(200)
            size = codec.codec_write(out, number, session, sequence, fields)
            data += out.raw[:size]
    for place, value in wrong:
        if place < len(data):
            data[place] = value
    data += b'\0'

    reader = FrameReader(from_board=False)
    c_reader = ctypes.create_string_buffer(codec.codec_reader_size())
    ours, theirs = [], []
    for at in range(0, len(data), cut):
        piece = bytes(data[at : at + cut])
        ours += reader.feed(piece)
        theirs += c_read(codec, c_reader, piece)
    assert [(f.message.ID, f.session, f.sequence, f.message) for f in ours] == [
        (*header, FRAMES[header.id].LAYOUT.unpack(fields)) for header, fields in theirs
    ]
    counts = reader.counts
    assert struct.unpack_from('<4I', c_reader.raw) == (
        counts.frames,
        counts.crc_errors,
        counts.length_errors,
        counts.unknown_ids,
    )
    assert not any(is_from_board(f.message.ID) for f in ours)


def test_a_missing_compiler_is_one_line_with_the_package_to_install(monkeypatch):
    monkeypatch.setenv('PATH', '')
    assert refusal(FlexRobotSimError, firmware.build) == (
        'make, arm-none-eabi-gcc cannot be found. Install it (Debian, Ubuntu: sudo apt install '
        '--no-install-recommends gcc-arm-none-eabi make).'
    )


@for_the_board
def test_a_source_that_does_not_compile_is_named_in_one_line(tmp_path):
    sources = tmp_path / 'firmware'
    shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns('build'))
    with open(sources / 'core' / 'cobs.c', 'a') as source:
        source.write('\nnonsense\n')
    with pytest.raises(FlexRobotSimError, match=r'cannot be built: core/cobs\.c:\d+:.*error'):
        firmware.build(sources=sources)


@for_the_board
def test_sources_in_a_read_only_folder_are_built_in_the_cache(tmp_path, monkeypatch):
    # root can write everywhere, so permissions have no effect
    access = os.access
    monkeypatch.setattr(
        firmware.os,
        'access',
        lambda path, mode: (
            access(path, mode) and not (mode == os.W_OK and str(path).startswith(str(SOURCES)))
        ),
    )
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    elf = firmware.build()
    assert elf.is_relative_to(tmp_path / 'flex_robot_sim_firmware') and elf.is_file()


@for_the_board
def test_a_file_that_is_not_firmware_is_one_line(tmp_path):
    (tmp_path / 'other.elf').write_bytes(b'\x7fELF\x02 and so on')
    with pytest.raises(FlexRobotSimError, match=r'other\.elf is no firmware for the emulation'):
        firmware.symbol_address(tmp_path / 'other.elf', 'mailbox')
