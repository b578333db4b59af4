"""Tab, in a real bash, and the examples of every help."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import flex_robot_sim.cli as cli
from flex_robot_sim.cli import rig
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

pytest.importorskip('argcomplete')

# the action of bash when Tab is pressed after a line
PRESS_TAB = r"""
eval "$(register-python-argcomplete flexsim)"
function=$(complete -p flexsim | sed 's/.*-F \([^ ]*\).*/\1/')
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDBREAKS=$' \t\n"'\''><=;|&(:'
COMP_WORDS=($1); [ "${1: -1}" = ' ' ] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"$function" flexsim "${COMP_WORDS[COMP_CWORD]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def completed(line, folder):
    """Return the completions that bash offers after a line."""
    path = f'{Path(sys.executable).parent}:{os.environ["PATH"]}'
    done = subprocess.run(
        ['bash', '-c', PRESS_TAB, 'bash', line],
        text=True,
        cwd=folder,
        capture_output=True,
        env={**os.environ, 'PATH': path},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, '')
    return {word.strip() for word in done.stdout.splitlines()} - {''}


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ('line', 'words'),
    [
        ('flexsim ', {*cli.COMMANDS, '--version', '--help', '-h'}),
        ('flexsim mo', {'modes'}),
        ('flexsim modes --pay', {'--payload'}),
        ('flexsim modes two_l', {name for name in shipped_robots() if name.startswith('two_l')}),
        ('flexsim check my', {'my_arm.urdf'}),
        ('flexsim modes two_link --coupling ', {'shortening', 'zero_order'}),
        ('flexsim rig ', {*rig.COMMANDS, '--help', '-h'}),
        ('flexsim rig emulate --fa', {'--fault'}),
    ],
)
def test_bash_completes(line, words, tmp_path):
    for name in ('my_arm.urdf', 'my_picture.png'):
        (tmp_path / name).touch()
    assert completed(line, tmp_path) == words


@pytest.mark.parametrize(
    ('module', 'name'),
    [*((cli, name) for name in cli.COMMANDS), *((rig, name) for name in rig.COMMANDS)],
)
def test_help_ends_with_a_valid_example(module, name, capsys):
    example = module.COMMANDS[name].example
    words = [name] if module is cli else ['rig', name]
    with pytest.raises(SystemExit) as end:
        cli.main([*words, '--help'])
    out = capsys.readouterr().out
    assert end.value.code == 0 and out.endswith(f'\nexample: {example}\n')
    typed = shlex.split(example)[1:]
    assert typed[: len(words)] == words
    cli._parser(typed[0]).parse_args(typed)
