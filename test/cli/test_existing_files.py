"""Every command rejects an existing output file unless --force is given."""

import argparse
import os

import pytest

from flex_robot_sim.cli import COMMANDS, _parser, main, rig
from flex_robot_sim.cli.parser import Parser, add_commands

pytestmark = pytest.mark.slow

COMMAND_LINES = {
    ('simulate', '--output'): 'simulate single_link --seconds 0.01 --output {}.csv',
    ('shape', '--output'): 'shape single_link --output {}.yaml',
    ('shape', '--plot'): 'shape single_link --plot {}.png',
    ('report', '--output'): 'report run.mcap --output {}.html',
    ('compare', '--output'): 'compare run.mcap run.mcap --output {}.html',
    ('export', '--output'): 'export run.mcap --output {}.npz --format numpy',
    ('excite', '--log'): 'excite single_link --kind decay --log {}.csv',
    ('excite', '--plot'): 'excite single_link --kind decay --plot {}.png',
    ('identify', '--output'): 'identify log.csv single_link --output {}.urdf',
    ('identify', '--plot'): 'identify log.csv single_link --plot {}.png',
    ('record', '--output'): 'record --output {}.mcap',
    ('demo', '--plot'): 'demo --plot {}.png',
    ('demo', '--record'): 'demo --record {}.mcap',
    ('rig calibrate', '--output'): 'rig calibrate /dev/null --output {}.yaml',
    ('rig calibrate', '--log'): 'rig calibrate /dev/null --output new.yaml --log {}.mcap',
    ('reduce', '--output'): 'reduce part.step --robot arm.urdf --link arm --output {}.npz',
    ('rig compare', '--plot'): 'rig compare log.csv --plot {}.png',
}
# files that these commands name, folders that they fill or continue, and pages that they amend
OTHERS = {
    ('excite', '--output'),
    ('sweep', '--output'),
    ('reproduce', '--output'),
    ('report', '--figures'),
    ('compare', '--figures'),
    ('benchmark', '--page'),
    ('reproduce', '--page'),
}
WRITING = '--output', '--plot', '--record', '--log', '--page', '--figures'


def options(parser, name=''):
    """Return the options that write files, each with its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from options(inner, f'{name} {word}'.strip())
        for option in action.option_strings:
            if option in WRITING:
                yield name, option


def test_every_option_that_writes_a_file_is_tested_here():
    found = {pair for word in COMMANDS for pair in options(_parser(word))}
    for word in rig.COMMANDS:
        parser = Parser()
        add_commands(parser, 'flex_robot_sim.cli.rig_', rig.COMMANDS, word)
        found |= set(options(parser, 'rig'))
    found -= {('shape', '--log'), ('tune', '--log')}  # these options read files
    assert found == {*COMMAND_LINES} | OTHERS


@pytest.mark.parametrize('command, option', COMMAND_LINES)
def test_an_existing_file_is_rejected_before_any_work(
    command, option, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = COMMAND_LINES[command, option].format('old').split()
    (name,) = (word for word in words if word.startswith('old.'))
    (tmp_path / name).write_text('mine')
    assert main(words) == 2
    assert capsys.readouterr().err.endswith(
        f'{option} {name}: exists already. Name another one, or replace it by --force.\n'
    )
    assert os.listdir() == [name] and (tmp_path / name).read_text() == 'mine'


def test_force_replaces_existing_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in 'run.csv', 'run.mcap', 'page.html', 'both.html', 'run.npz', 'ex.trajectory.yaml':
        (tmp_path / name).write_text('old')
    (tmp_path / 'tables').mkdir()
    (tmp_path / 'tables' / 'mine.txt').write_text('mine')
    move = 'single_link --to 0.3 --within 0.3 --seconds 4'
    for words in (
        f'simulate {move} --output run.csv',
        f'simulate {move} --output run.mcap',
        'report run.mcap --output page.html',
        'compare run.mcap run.mcap --output both.html',
        'export run.mcap --output run.npz --format numpy',
        'export run.mcap --output tables --format csv',
        'excite single_link --kind decay --seconds 2 --output ex',
    ):
        assert main(words.split()) == 2, words
        assert ': exists already. Name another one' in capsys.readouterr().err
        assert main([*words.split(), '--force']) == 0, words
    for path in tmp_path.glob('*.*'):
        assert len(path.read_bytes()) > 100, path
    # other files in a folder stay
    assert (tmp_path / 'tables' / 'mine.txt').read_text() == 'mine'
    assert len(os.listdir('tables')) > 1


def test_files_with_default_names_are_replaced_and_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(['simulate', 'single_link', '--seconds', '0.1', '--output', 'run.mcap']) == 0
    for words, name in (
        ('report run.mcap', 'run.html'),
        ('export run.mcap', 'run_csv'),
        ('export run.mcap --format numpy', 'run.npz'),
    ):
        capsys.readouterr()
        for _ in range(2):
            assert main(words.split()) == 0, words
            assert name in capsys.readouterr().out


def test_a_device_is_not_an_existing_file():
    assert main(['simulate', 'single_link', '--seconds', '0.01', '--output', os.devnull]) == 0
