"""`flexsim rig`: text and JSON output."""

import json
import re
import shutil
import subprocess
import threading

import pytest
from rig_peer import Peer

from flex_robot_sim.cli import main, rig_setup
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.board.pty_port import PtyPort
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.share import share_folder

RULE = share_folder() / 'config' / rig_setup.RULE
PORTS = [('/dev/serial/by-id/usb-x', '/dev/null', 'USB adapter')]


@pytest.fixture
def peer(tmp_path):
    peer = Peer(tmp_path)
    yield peer
    peer.close()


def output(capsys, *words):
    code = main(words)
    return code, capsys.readouterr()


def test_help_lists_the_commands_of_the_bench(capsys):
    with pytest.raises(SystemExit) as caught:
        main(['rig', '--help'])
    text = capsys.readouterr().out
    assert caught.value.code == 0 and 'setup ' in text and 'info ' in text


@pytest.mark.parametrize('words, missing', [('rig', 'COMMAND'), ('rig info', 'PORT')])
def test_a_missing_argument_is_one_line_and_exit_code_2(capsys, words, missing):
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert (caught.value.code, capsys.readouterr().err) == (
        2,
        f'flexsim {words}: the following arguments are required: {missing}. '
        f'Try flexsim {words} --help.\n',
    )


def test_an_emulator_does_not_create_a_named_folder(tmp_path):
    with pytest.raises(UsageError, match=r'cannot be made: No such file or directory\. Give '):
        PtyPort(tmp_path / 'not' / 'there')
    assert not [*tmp_path.iterdir()]


def test_info_prints_the_data_of_the_board(capsys, peer):
    code, text = output(capsys, 'rig', 'info', peer.name)
    assert code == 0
    lines = text.out.splitlines()
    assert lines[0] == 'connected'
    assert lines[1] == '  board      python, firmware 1.2.3, protocol 1.0, uid ' + 24 * '0'
    assert '  state      disarmed' in lines and '  faults     none' in lines
    assert '  counts     slide 1, turn 2; 5 steps sent' in lines


@pytest.mark.slow
@pytest.mark.parametrize(
    'pause_s, about', [(1.2, 'connected'), (60.0, 'connected, but no telemetry comes')]
)
def test_info_waits_a_second_for_late_telemetry(capsys, peer, pause_s, about):
    timers = [
        threading.Timer(delay, setattr, (peer, 'silent', silent))
        for delay, silent in ((0.5, True), (0.5 + pause_s, False))
    ]
    for timer in timers:
        timer.start()
    code, text = output(capsys, 'rig', 'info', peer.name)
    for timer in timers:
        timer.cancel()
    assert code == 0 and text.out.splitlines()[0] == about


@pytest.mark.slow
def test_info_as_json_is_exactly_one_object(capsys, peer):
    code, text = output(capsys, 'rig', 'info', peer.name, '--json')
    facts = json.loads(text.out)
    assert code == 0 and text.err == ''
    assert (facts['link'], facts['back_end'], facts['inputs']) == ('ready', 'python', [])
    assert facts['telemetry_rate_Hz'] > 0


@pytest.mark.slow
def test_info_shows_manual_motion(capsys, tmp_path):
    with Emulator(tmp_path / 'rig') as emulator:
        emulator.inject('slide=0.16')
        emulator.inject('short=tip')
        while emulator.call(lambda rig: bool(rig.bench.hands)):
            pass
        code, text = output(capsys, 'rig', 'info', emulator.link, '--json')
    facts = json.loads(text.out)
    # 10 mm on a screw of 8 mm lead with 2400 counts per turn, to one count
    assert code == 0 and facts['slide_counts'] == pytest.approx(10 / 8 * 2400, abs=2)
    assert facts['adc_tip_percent'] < 1.0 and 40.0 < facts['adc_root_percent'] < 60.0


def test_info_without_a_port_is_one_line_and_exit_code_2(capsys, tmp_path):
    code, text = output(capsys, 'rig', 'info', str(tmp_path / 'none'))
    assert (code, text.out) == (2, '')
    assert text.err == (
        f'flexsim rig: {tmp_path}/none: there is no such port. Plug the board in; '
        '`flexsim rig setup` lists the ports of this machine.\n'
    )


def test_setup_prints_one_object_as_json(capsys):
    code, text = output(capsys, 'rig', 'setup', '--json')
    assert code == 0 and json.loads(text.out)['rule'] == str(RULE)


@pytest.mark.parametrize('state', ['missing', 'outdated', 'current'])
def test_setup_explains_the_udev_rule(tmp_path, state):
    installed = tmp_path / 'rules' / RULE.name
    installed.parent.mkdir()
    if state != 'missing':
        shutil.copy(RULE, installed)
    if state == 'outdated':
        installed.write_text('# of last year')
    facts = rig_setup.summary(RULE, installed, PORTS)
    lines = rig_setup.as_text(facts)
    assert facts['rule_state'] == state
    assert (f'  sudo cp {RULE} {installed}' in lines) == (state != 'current')
    assert '  /dev/serial/by-id/usb-x  (USB adapter)' in lines


def test_setup_names_the_group_of_a_port_without_permission(tmp_path):
    facts = rig_setup.summary(RULE, tmp_path / 'none', PORTS)
    facts['ports'][0].update(usable=False, group='dialout')
    assert (
        '    no permission: sudo usermod -aG dialout $USER, then log in again'
        in rig_setup.as_text(facts)
    )


def test_setup_reports_that_there_are_no_ports(tmp_path):
    assert [*rig_setup.as_text(rig_setup.summary(RULE, tmp_path, []))][-1].startswith(
        'No serial port. Plug the board in'
    )


def rule_lines():
    """Return [(key, operator, value), ...] of each non-comment line of the rule."""
    for line in RULE.read_text(encoding='utf-8').splitlines():
        if line and not line.startswith('#'):
            pairs = [
                re.fullmatch(r'([A-Z]+(?:\{\w+\})?)(==|!=|\+=|=)"([^"]*)"', pair)
                for pair in line.split(', ')
            ]
            assert all(pairs), line
            yield [pair.groups() for pair in pairs]


def test_the_rule_has_the_syntax_of_udev():
    # udev(7): match keys and assignment keys
    compared = {'ACTION', 'SUBSYSTEM', 'DRIVER', 'ENV', 'ATTR', 'ATTRS'}
    assigned = {'GOTO', 'LABEL', 'ENV', 'GROUP', 'MODE', 'TAG', 'SYMLINK', 'ATTR'}
    jumps = []
    labels: list = []
    for pairs in rule_lines():
        for key, operator, value in pairs:
            known = compared if operator in ('==', '!=') else assigned
            assert key.partition('{')[0] in known
            jumps += [(value, len(labels))] if key == 'GOTO' else []
            labels += [value] if key == 'LABEL' else []
    # udev only jumps forward
    assert jumps and all(name in labels[passed:] for name, passed in jumps)
    # before 73-seat-late.rules grants access by the tag, after 60-serial.rules names the port
    assert 60 < int(RULE.name.split('-')[0]) < 73


def test_the_rule_names_the_documented_adapters_and_group():
    lines = [{key: value for key, _, value in pairs} for pairs in rule_lines()]
    chips = {
        line['ATTRS{idVendor}']: line['ATTRS{idProduct}'].split('|')
        for line in lines
        if 'ATTRS{idVendor}' in line
    }
    # FT232R, FT232H and CP2102N of docs/rig.md, with the ids of their manufacturers
    assert {'6001', '6014'} <= {*chips['0403']} and 'ea60' in chips['10c4']
    (ignored,) = (line['ATTR{idVendor}'] for line in lines if 'ATTR{idVendor}' in line)
    assert {*ignored.split('|')} == {*chips}  # ModemManager ignores all of them
    assert any((line.get('GROUP'), line.get('MODE')) == ('dialout', '0660') for line in lines)


def test_udev_accepts_the_rule():
    if shutil.which('udevadm') is None:
        pytest.skip('needs udevadm of systemd 254 or later')
    known = subprocess.run(['udevadm', 'verify', '--help'], capture_output=True)
    if known.returncode:
        pytest.skip('udevadm verify came with systemd 254')
    answer = subprocess.run(['udevadm', 'verify', str(RULE)], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
