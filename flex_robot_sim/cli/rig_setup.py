"""`flexsim rig setup`: serial ports of this machine, and the setup that they need once."""

import os
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flex_robot_sim.cli.common import add_json, print_result
from flex_robot_sim.rig.host.serial_port import owning_group, serial_ports
from flex_robot_sim.util.share import share_folder

RULES_FOLDER = Path('/etc/udev/rules.d')
RULE = '70-flex-robot-rig.rules'


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Print the serial ports of this machine, and what to set up so that you have access '
        'to them. This changes nothing.'
    )
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    print_result(
        arguments,
        summary(share_folder() / 'config' / RULE, RULES_FOLDER / RULE, serial_ports()),
        as_text,
    )
    return 0


def summary(
    shipped: Path, installed: Path, ports: Sequence[tuple[str, str, str]]
) -> dict[str, Any]:
    """Return ports and state of the udev rule as a dictionary for JSON."""
    return {
        'rule': str(shipped),
        'installed': str(installed),
        'rule_state': 'missing'
        if not installed.is_file()
        else 'current'
        if installed.read_bytes() == shipped.read_bytes()
        else 'outdated',
        'ports': [
            {
                'name': name,
                'device': device,
                'about': about,
                'group': owning_group(device),
                'usable': os.access(device, os.R_OK | os.W_OK),
            }
            for name, device, about in ports
        ],
    }


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Return the summary as lines of text."""
    rule, installed = shlex.quote(facts['rule']), facts['installed']
    state = {
        'missing': 'is not installed',
        'outdated': 'is installed, but of another version',
        'current': 'is installed',
    }[facts['rule_state']]
    lines = [f'The udev rule {state}: {installed}.']
    if facts['rule_state'] != 'current':
        lines += [
            'It keeps ModemManager away from the port, gives it low latency, a stable name',
            '/dev/rig-<serial number>, and grants access to the users logged in at this machine:',
            '',
            f'  sudo cp {rule} {installed}',
            '  sudo udevadm control --reload && sudo udevadm trigger',
            '',
            'Plug the adapter in again afterwards.',
        ]
    lines += [
        '',
        'Serial ports:'
        if facts['ports']
        else 'No serial port. Plug the board in, or try `flexsim rig emulate`.',
    ]
    for port in facts['ports']:
        lines.append(f'  {port["name"]}  ({port["about"]})')
        if not port['usable']:
            group = port['group']
            # never suggest to join the group root; a group without a name cannot be joined
            lines.append(
                '    no permission: install the udev rule and plug it in again'
                if group == 'root' or group.isdigit()
                else f'    no permission: sudo usermod -aG {group} $USER, then log in again'
            )
    return lines
