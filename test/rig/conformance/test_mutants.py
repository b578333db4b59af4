"""A board that breaks a rule fails the check of that rule: in Python, and as firmware in QEMU."""

import math
import shutil

import pytest

from flex_robot_sim.rig.board import board_sensors as board_senses
from flex_robot_sim.rig.board import board_state
from flex_robot_sim.rig.board import command_handler as board_commands
from flex_robot_sim.rig.board.emulated_board import EmulatedBoard as Board
from flex_robot_sim.rig.board.firmware import TOOLS, build, missing_tools
from flex_robot_sim.rig.board.qemu import PACKAGES
from flex_robot_sim.rig.board.qemu_rig import QemuRig
from flex_robot_sim.rig.conformance import back_ends
from flex_robot_sim.rig.conformance.check_runner import CHECKS, run_check
from flex_robot_sim.rig.wire.protocol import Fault, State
from flex_robot_sim.util.share import share_folder

pytestmark = pytest.mark.slow

Commands = board_commands.Commands
NO_QEMU = missing_tools({**TOOLS, **PACKAGES})
ESTOP = 0x2F

STAYS_OFF = 'motors_stop_within_100_ms_of_silence_and_stay_off'
AFTER_ESTOP = 'estop_adds_itself_to_a_fault_and_only_arm_after_clear_moves_again'
BOUNCES = 'switch_that_bounces_is_not_the_origin'
HOMING = 'homing_ends_with_estop_silence_and_every_other_switch'
FED = 'nothing_but_a_set_point_feeds_the_watchdog'
LIMIT = 'limit_in_motion_latches_and_lets_go_only_away_from_it'
WRAP = 'clock_wraps_in_motion_and_every_time_is_kept'
REBOOT = 'reboot_in_motion_stops_the_motors_and_forgets_the_homing'
VERSION = 'hello_of_another_version_stops_motion_and_cannot_begin_it_again'
REPLAY = 'replay_of_a_session_touches_nothing_in_the_one_that_runs'


def run_named_check(name, back_end):
    (check,) = (check for check in CHECKS if check.name == name)
    return run_check(check, back_end)


@pytest.fixture(scope='module')
def emulator():
    back_end = back_ends.emulator()
    yield back_end
    back_end.close()


def deaf_to_estop(where):
    """Return a Commands.handle that ignores ESTOP if `where(commands, frame)` holds."""

    def handle(commands, frame, handle=Commands.handle):
        if frame.message.ID != ESTOP or not where(commands, frame):
            handle(commands, frame)

    return Commands, 'handle', handle


def deaf_to_estop_in(state):
    return deaf_to_estop(lambda commands, frame: commands._board.state == state)


def feeds_in_homing(board, *arguments, step=Board._continue_homing):
    board.feed_watchdog()
    return step(board, *arguments)


def arming(name, state):
    """Return a method of Commands that first switches the outputs on in a state."""
    method = getattr(Commands, name)

    def arm(commands, *arguments):
        if commands._board.state == state:
            clears_into_motion(commands, None)
        return method(commands, *arguments)

    return Commands, name, arm


def carries_out_again(commands, frame, command=Commands._command):
    commands._last = None
    command(commands, frame)


def stops_without_latching(board, faults, latch=Board.latch):
    if faults == Fault.WATCHDOG:
        board.change_state(State.DISARMED)
    else:
        latch(board, faults)


def clears_into_motion(commands, message):
    commands._board.faults = Fault(0)
    commands._board.change_state(State.ARMED)
    return 0, 0


def boots_homed(board, identity, start=Board.__init__):
    start(board, identity)
    board.homed = sum(board_senses.HOMED)


MUTANTS = {
    'watchdog of 120 ms': (STAYS_OFF, board_state, 'WATCHDOG', 120_000),
    'watchdog that does not latch': (STAYS_OFF, Board, 'latch', stops_without_latching),
    'no watchdog': (FED, board_state, 'WATCHDOG', 60_000_000),
    'no watchdog in homing': (HOMING, Board, '_continue_homing', feeds_in_homing),
    'bounces are edges': (BOUNCES, board_state, 'DEBOUNCE_TIME', 0),
    'set point arms': (STAYS_OFF, *arming('_take_setpoint', State.DISARMED)),
    'set point clears and arms': (STAYS_OFF, *arming('_take_setpoint', State.FAULT)),
    'set point before ESTOP comes back': (
        AFTER_ESTOP,
        Board,
        'arm',
        lambda board: (
            board.feed_watchdog(),
            board.change_state(State.ARMED),
            board.__dict__.update(
                _motion_command=board_state.MotionCommand(0.05, 0.0), _valid_until=math.inf
            ),
        ),
    ),
    'CLEAR arms': (AFTER_ESTOP, Commands, '_clear', clears_into_motion),
    'ARM clears': (AFTER_ESTOP, *arming('_command', State.FAULT)),
    'ESTOP of one session': (
        'estop_is_taken_in_every_session',
        *deaf_to_estop(lambda commands, frame: frame.session != commands.session),
    ),
    'ESTOP of a session': (
        'estop_is_taken_before_any_hello',
        *deaf_to_estop(lambda commands, frame: commands.session == 0),
    ),
    'ESTOP of this version': (
        'estop_is_taken_in_a_read_only_session_which_cannot_clear_it',
        *deaf_to_estop(lambda commands, frame: commands._read_only),
    ),
    'ESTOP not while homing': (HOMING, *deaf_to_estop_in(State.HOMING)),
    'ESTOP not in a profile': (
        'profile_ends_with_estop_and_with_silence',
        *deaf_to_estop_in(State.PROFILE),
    ),
    'ESTOP not in a fault': (AFTER_ESTOP, *deaf_to_estop_in(State.FAULT)),
    'boots homed': (REBOOT, Board, '__init__', boots_homed),
    'any session': (REPLAY, Commands, '_is_ours', lambda commands, frame: True),
    'repetitions executed': (
        'repeated_command_is_answered_alike_and_carried_out_once',
        Commands,
        '_command',
        carries_out_again,
    ),
    'old set points taken': (
        'old_set_point_is_not_taken',
        board_commands,
        '_is_newer',
        lambda sequence, last: True,
    ),
    'other versions may arm': (VERSION, board_commands, 'READ_ONLY_REFUSES', set()),
    'switches of the slide swapped': (LIMIT, board_senses, 'LOWER', (2, 4)),
    'limits do not latch': (LIMIT, board_senses, 'LIMIT', (Fault(0), Fault(0))),
    'limits stop nothing': (LIMIT, Board, '_at_switch', lambda board, joint, motion: False),
    'limits stop everything': (
        LIMIT,
        Board,
        '_at_switch',
        lambda board, joint, motion: motion != 0 and bool(board.sensors.switches & 15),
    ),
    'no validity': (
        'set_point_holds_for_its_validity',
        Board,
        'drive',
        lambda board, setpoint: (
            board.feed_watchdog(),
            board.__dict__.update(_motion_command=setpoint[1:3], _valid_until=math.inf),
        ),
    ),
    'motion after a profile': (
        'profile_switches_in_the_step_in_which_it_is_due',
        board_state,
        'ZERO_MOTION',
        board_state.MotionCommand(0.05, 0.0),
    ),
    'no ramp': (
        'step_rate_follows_its_ramp',
        board_state.StepRamp,
        'advance',
        lambda ramp, target, *_: setattr(ramp, 'rate', target),
    ),
    'faults go by themselves': (
        'stop_button_latches_in_every_state_and_clear_waits_for_its_release',
        Board,
        'persistent_faults',
        lambda board: Fault(0),
    ),
}


@pytest.mark.parametrize('mutant', MUTANTS)
def test_board_in_python(mutant, emulator, monkeypatch):
    name, *change = MUTANTS[mutant]
    monkeypatch.setattr(*change)
    assert run_named_check(name, emulator).result == 'failed'


AT_SWITCH = 'limits.c', 'return motion != 0 && closed & limit_switch(joint, motion > 0)'
BITES = 'step.c', 'now - setpoint->taken >= WATCHDOG_MS * 1000u - STEP_US'

# the original source line, and its mutant
FIRMWARE_MUTANTS = {
    'watchdog of 120 ms': (STAYS_OFF, *BITES, 'now - setpoint->taken >= 120000u'),
    'watchdog that does not latch': (
        STAYS_OFF,
        'step.c',
        'board_latch(board, FAULT_WATCHDOG)',
        'board_enter(board, STATE_DISARMED)',
    ),
    'watchdog that stumbles over the wrap': (
        WRAP,
        *BITES,
        'now >= setpoint->taken + WATCHDOG_MS * 1000u - STEP_US',
    ),
    'validity that stumbles over the wrap': (
        WRAP,
        'step.c',
        'now - setpoint->taken >= setpoint->validity',
        'now >= setpoint->taken + setpoint->validity',
    ),
    'profile that stumbles over the wrap': (
        WRAP,
        'step.c',
        'now - board->profile_time)',
        '(now > board->profile_time ? now - board->profile_time : 0))',
    ),
    'no watchdog in homing': (
        HOMING,
        'step.c',
        'board_is_moving(board) && now - setpoint',
        'board_is_moving(board) && board->state != STATE_HOMING && now - setpoint',
    ),
    'bounces are edges': (BOUNCES, 'homing.c', '>= HOMING_SETTLING', '+ 1 > 0'),
    'set point arms': (
        STAYS_OFF,
        'commands.c',
        '    enum result result\n',
        '    if (board->state == STATE_DISARMED) { board_enter(board, STATE_ARMED); }\n'
        '    enum result result\n',
    ),
    'set points outlive a state': (
        'arming_begins_with_an_arm_that_stands',
        'state.c',
        '    board->setpoint.drives = false;\n',
        '',
    ),
    'CLEAR arms': (
        AFTER_ESTOP,
        'state.c',
        'board_enter(board, STATE_DISARMED)',
        'board_enter(board, STATE_ARMED)',
    ),
    'ARM clears': (
        AFTER_ESTOP,
        'commands.c',
        '{FRAME_ARM, true, {0, 0, BUSY, BUSY, LATCHED}',
        '{FRAME_ARM, true, {0, 0, BUSY, BUSY, 0}',
    ),
    'ESTOP of one session': (
        'estop_is_taken_in_every_session',
        'commands.c',
        'header.id == FRAME_ESTOP)',
        'header.id == FRAME_ESTOP && is_of_this_session(board, header))',
    ),
    'ESTOP not while homing': (
        HOMING,
        'commands.c',
        '    board_latch(board, FAULT_ESTOP_COMMAND);',
        '    if (board->state != STATE_HOMING) { board_latch(board, FAULT_ESTOP_COMMAND); }',
    ),
    'boots homed': (
        REBOOT,
        'step.c',
        '    step_clock_start(',
        '    board->encoder[0].homed = true;\n    step_clock_start(',
    ),
    'boots armed': (REBOOT, 'step.c', '.state = STATE_DISARMED}', '.state = STATE_ARMED}'),
    'any session': (
        REPLAY,
        'commands.c',
        'return header.session != NO_SESSION && header.session == board->outbox.session',
        'return board && header.id',
    ),
    'other schemas may arm': (VERSION, 'handshake.c', ' || hello->schema_crc != SCHEMA_CRC', ''),
    'limits stop nothing': (LIMIT, *AT_SWITCH, 'return motion != 0 && closed && joint > 2'),
    'limits stop everything': (LIMIT, *AT_SWITCH, 'return motion != 0 && closed && joint < 2'),
    'limits do not latch': (
        LIMIT,
        'limits.c',
        'closing & SLIDE_SWITCHES ? FAULT_LIMIT_SLIDE : 0',
        'closing & SLIDE_SWITCHES ? 0 : 0',
    ),
}


@pytest.fixture(scope='module')
def sources(tmp_path_factory):
    """Return a copy of the firmware sources for modification."""
    if NO_QEMU:
        pytest.skip(NO_QEMU)
    folder = tmp_path_factory.mktemp('broken') / 'firmware'
    shutil.copytree(share_folder() / 'firmware', folder, ignore=shutil.ignore_patterns('build'))
    build(sources=folder)
    return folder


@pytest.mark.long(after=6)
@pytest.mark.parametrize('mutant', FIRMWARE_MUTANTS)
def test_firmware_in_qemu(mutant, sources):
    name, file, written, instead = FIRMWARE_MUTANTS[mutant]
    path = sources / 'core' / file
    right = path.read_text()
    assert right.count(written) == 1
    path.write_text(right.replace(written, instead))
    try:
        back_end = back_ends.Lockstep('broken', QemuRig(image=build(sources=sources)))
        outcome = run_named_check(name, back_end)
        back_end.close()
    finally:
        path.write_text(right)
    assert outcome.result == 'failed'
