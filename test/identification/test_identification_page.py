"""`docs/identification*.md`: commands are valid, tables and equations are complete."""

import re

import pytest
from project_files import ROOT

from flex_robot_sim.cli import _parser
from flex_robot_sim.description.quantities import JOINT_QUANTITIES, LINK_QUANTITIES
from flex_robot_sim.identification.parameters import DRIVE_QUANTITIES, FITTED_GROUPS, GROUPS
from flex_robot_sim.identification.uncertainty import HINTS

pytestmark = pytest.mark.slow

PAGE, REFERENCE, METHOD, RESULTS = (
    (ROOT / f'docs/identification{part}.md').read_text('utf-8')
    for part in ('', '_reference', '_method', '_results')
)
COMMANDS = re.findall(r'^\s*flexsim (.+)$', PAGE + RESULTS, re.MULTILINE)


@pytest.mark.parametrize('command', COMMANDS)
def test_commands_of_the_page_are_valid(command):
    words = command.split()
    assert _parser(words[0]).parse_args(words).command == words[0]


def test_the_page_lists_all_paths_and_groups():
    for kind, words in (('LINK', LINK_QUANTITIES), ('JOINT', JOINT_QUANTITIES)):
        rows = ' '.join(re.findall(rf'^\| (`{kind}\..*?) \|', REFERENCE, re.MULTILINE))
        fitted = {word for word, quantity in words.items() if quantity.group in FITTED_GROUPS}
        fitted |= {*DRIVE_QUANTITIES} if kind == 'JOINT' else set()
        assert set(re.findall(r'\.(\w+)`', rows)) == fitted
    groups = REFERENCE[REFERENCE.index('| group |') : REFERENCE.index('Without `--free`')]
    assert set(re.findall(r'`(\w+)`', groups)) == {*GROUPS}


def test_every_equation_number_in_the_code_is_on_the_page():
    sources = (ROOT / 'flex_robot_sim/identification').glob('*.py')
    named = set(re.findall(r'\(I\d+\)', ' '.join(path.read_text('utf-8') for path in sources)))
    assert named and all(one in METHOD for one in named)
    assert {'stiffness', 'damping', 'friction', 'mass', 'delay'} <= {*HINTS}
