"""The loop of a simulation, turn by turn, on a clock that the test sets."""

import threading

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.realtime.loop import FAILED, IDLE_PERIOD_S, PAUSED, RUNNING, SimulationLoop
from flex_robot_sim.realtime.loop_report import LoopReport
from flex_robot_sim.realtime.loop_settings import LoopSettings, PayloadSettings
from flex_robot_sim.realtime.rate_gate import RateGate
from flex_robot_sim.util.exceptions import CommandError, SettingError, SimulationError

pytestmark = pytest.mark.slow

LIMITS = [np.inf, np.inf, np.inf]
HOLD = ['shoulder', 'elbow'], [3.0, 1.0]


class Clock:
    """A clock that stands still until it is set."""

    now = 50.0

    def __call__(self):
        """Say what time it is [s]."""
        return self.now


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


@pytest.fixture
def make_loop(arm):
    def make(limits=LIMITS, **settings):
        clock = Clock()
        loop = SimulationLoop(frs.Simulation(arm), LoopSettings(**settings), limits, clock)
        return loop, clock

    return make


def run_until(loop, clock, end, step=1e-4):
    """Turn whenever the loop wants to, until the clock shows `end` [s]."""
    while clock.now < end - 1e-9:
        clock.now += min(max(loop.turn(), step), end - clock.now)


def lines(loop):
    found = []
    while not loop.events.empty():
        found.append(loop.events.get())
    return found


def test_real_time_passes_as_the_clock_does(make_loop):
    loop, clock = make_loop()
    run_until(loop, clock, 50.5)
    assert loop.simulation.time == pytest.approx(0.5, abs=1.5e-3)  # one period of 1 ms
    assert (loop.overruns, loop.deadline_misses, loop.pacer.dropped) == (0, 0, 0.0)


@pytest.mark.parametrize('first, then', [(1.0, 2.0), (1e-6, 1.0)])
def test_another_pace_is_taken_at_once(make_loop, first, then):
    loop, clock = make_loop(real_time_factor=first)
    run_until(loop, clock, 50.2)
    loop.change(LoopSettings(real_time_factor=then))
    run_until(loop, clock, 50.3)
    assert loop.simulation.time == pytest.approx(0.2 * first + 0.1 * then, abs=2e-3)


def test_each_long_hold_up_is_a_late_step_and_the_worst_is_reported(make_loop):
    loop, clock = make_loop()
    report = LoopReport(loop, clock.now)
    for k in range(10):
        run_until(loop, clock, clock.now + 0.1)
        clock.now += 0.2 + 1e-3 * k
    run_until(loop, clock, clock.now + 0.1)
    _, _, figures = report.figures(clock.now)
    assert figures['deadlines missed by 5 ms'] == 10
    # a hold-up begins at most a period before or after a deadline
    assert figures['lateness, longest [ms]'] == pytest.approx(209.0, abs=1.0)
    assert figures['time dropped [s]'] == pytest.approx(2.045, abs=0.01)
    _, _, figures = report.figures(clock.now)
    assert figures['lateness, longest [ms]'] == 0.0
    assert figures['lateness since the start, longest [ms]'] == pytest.approx(209.0, abs=1.0)


def test_outputs_of_any_rate_have_a_period(make_loop):
    loop, _ = make_loop()
    for rate in (5e-324, 1e-300, 1e-10, 1.0, 1e300):
        assert 1 <= loop.add_output(rate, None).every <= 1e12


def test_a_short_hold_up_is_made_up_for(make_loop):
    loop, clock = make_loop()
    run_until(loop, clock, 50.1)
    clock.now += 0.03
    run_until(loop, clock, 50.2)
    assert loop.simulation.time == pytest.approx(0.2, abs=2e-3)
    assert loop.pacer.dropped == 0.0 and loop.deadline_misses > 0


def test_a_long_hold_up_is_dropped_counted_and_said_once(make_loop):
    loop, clock = make_loop()
    run_until(loop, clock, 50.1)
    for _ in range(3):
        clock.now += 0.2
        loop.turn()
    assert loop.simulation.time == pytest.approx(0.103, abs=2e-3)
    assert loop.pacer.dropped == pytest.approx(0.6, abs=5e-3)
    assert [level for level, _ in lines(loop)] == ['warning']


def test_fast_never_waits(make_loop):
    loop, _ = make_loop(pacing='fast')
    assert [loop.turn() for _ in range(100)] == [0.0] * 100
    assert loop.simulation.time == pytest.approx(0.1)


def test_lockstep_takes_one_period_per_command(make_loop):
    loop, _ = make_loop(pacing='lockstep')
    for _ in range(5):
        loop.turn()
    assert loop.simulation.time == 0.0
    for k in range(1, 4):
        loop.command(*HOLD)
        loop.turn()
        assert loop.simulation.time == pytest.approx(1e-3 * k)


def test_lockstep_does_not_step_twice_for_two_answers_to_one_state(make_loop):
    loop, _ = make_loop(pacing='lockstep')
    for stamp in (1000, 1000, 2000, 1000, 2000, 3000):
        loop.command(*HOLD, stamp=stamp)
        loop.turn()
    assert loop.simulation.time == pytest.approx(3e-3)


def test_lockstep_is_the_same_as_a_plain_simulation_bit_for_bit(make_loop, arm):
    loop, clock = make_loop(pacing='lockstep')
    plain = frs.Simulation(arm)
    for k in range(200):
        efforts = [3.0 * np.sin(0.1 * k), np.cos(0.1 * k)]
        loop.command(HOLD[0], efforts)
        clock.now += 0.7  # how long the controller takes does not matter
        loop.turn()
        plain.effort = [0.0, *efforts]
        plain.step()
    assert np.array_equal(loop.simulation.q, plain.q)


@pytest.mark.parametrize('pacing', ['real_time', 'fast', 'lockstep'])
def test_a_paused_loop_moves_by_single_steps_only(make_loop, pacing):
    loop, clock = make_loop(pacing=pacing)
    loop.pause()
    loop.command(*HOLD)
    run_until(loop, clock, 51.0)
    assert loop.simulation.time == 0.0 and loop.state == PAUSED
    loop.step()
    loop.step()
    assert loop.simulation.time == pytest.approx(2e-3)


def test_time_of_a_pause_is_not_made_up_for(make_loop):
    loop, clock = make_loop()
    run_until(loop, clock, 50.1)
    loop.pause()
    run_until(loop, clock, 60.0)
    loop.resume()
    run_until(loop, clock, 60.1)
    assert loop.simulation.time == pytest.approx(0.2, abs=3e-3)
    assert loop.pacer.dropped == 0.0


@pytest.mark.parametrize('pacing', ['real_time', 'fast', 'lockstep'])
def test_a_reset_puts_the_arm_back_and_time_runs_on(make_loop, pacing):
    home = (0.1, 0.2, -0.3)
    loop, clock = make_loop(pacing=pacing, initial_position=home)
    assert loop.simulation.position.tolist() == list(home)
    for _ in range(50):
        loop.command(*HOLD)
        clock.now += 1e-3
        loop.turn()
    time = loop.simulation.time
    assert time > 0.04
    loop.reset()
    assert loop.simulation.position.tolist() == list(home)
    assert not loop.simulation.v.any() and loop.simulation.time == time
    clock.now += 1e-3
    loop.turn()
    if pacing != 'lockstep':
        assert loop.simulation.time > time and not loop.simulation.effort.any()


def test_commands_that_stop_count_as_zero_and_are_missed_once(make_loop):
    loop, clock = make_loop()
    loop.command(*HOLD)
    run_until(loop, clock, 50.05)
    assert loop.simulation.effort.tolist() == [0.0, 3.0, 1.0]
    run_until(loop, clock, 51.0)
    assert not loop.simulation.effort.any()
    assert lines(loop) == [('warning', 'no command for 0.5 s: efforts are zero')]
    loop.command(*HOLD)
    run_until(loop, clock, 51.01)
    assert lines(loop) == [('info', 'commands arrive again')]


def test_a_refused_command_does_not_move_a_lockstep(make_loop):
    loop, _ = make_loop(pacing='lockstep')
    with pytest.raises(CommandError):
        loop.command(['elbow'], [np.nan])
    loop.turn()
    assert loop.simulation.time == 0.0


def test_a_lost_state_stops_says_so_keeps_the_last_good_one_and_ends_with_a_reset(make_loop):
    loop, clock = make_loop()
    run_until(loop, clock, 50.01)
    good = loop.simulation.q
    loop.command(['elbow'], [1e300])
    sent = []
    loop.add_output(1000.0, lambda simulation, effort: sent.append(simulation.q))
    run_until(loop, clock, 50.1)
    assert loop.state == FAILED and np.isfinite(loop.simulation.q).all()
    assert np.allclose(loop.simulation.q, good, atol=1e-3)
    assert np.isfinite(sent).all()
    ((level, line),) = [event for event in lines(loop) if event[0] == 'error']
    assert 'not finite' in line and line.endswith('Call the reset service to continue')
    for action in (loop.step, loop.pause, loop.resume):
        with pytest.raises(SimulationError, match='the state is no longer finite: call reset'):
            action()
    loop.reset()
    run_until(loop, clock, 50.2)
    assert loop.state == RUNNING and loop.simulation.time > 0.05


def test_an_effort_limit_keeps_an_absurd_command_from_losing_the_state(make_loop):
    loop, clock = make_loop(limits=[10.0, 15.0, 4.0])
    loop.command(['elbow'], [1e300])
    run_until(loop, clock, 50.1)
    assert loop.state == RUNNING and loop.commands.limited == 1


def counter(counts, name):
    """Return an output that counts its calls under a name."""

    def count(simulation, effort):
        counts[name] += 1

    return count


def test_outputs_come_at_their_rates_and_again_when_nothing_moves(make_loop):
    loop, clock = make_loop()
    counts = dict.fromkeys((500.0, 30.0, 0.0), 0)
    outputs = {rate: loop.add_output(rate, counter(counts, rate)) for rate in counts}
    run_until(loop, clock, 51.0)
    assert counts[500.0] == pytest.approx(500, abs=1) and counts[0.0] == 0
    assert counts[30.0] == pytest.approx(30, abs=1)  # every 33 periods of 1 ms
    outputs[500.0].set_rate(100.0)
    run_until(loop, clock, 52.0)
    assert counts[500.0] == pytest.approx(600, abs=2)
    loop.pause()
    before = counts[500.0]
    run_until(loop, clock, 53.0)
    assert counts[500.0] - before == pytest.approx(1.0 / IDLE_PERIOD_S, abs=1)


def test_lockstep_sends_what_is_answered_every_period_and_all_else_at_its_rate(make_loop):
    loop, _ = make_loop(pacing='lockstep')
    counts = dict.fromkeys('abc', 0)
    loop.add_output(500.0, counter(counts, 'a'), is_answered=True)
    loop.add_output(100.0, counter(counts, 'b'))
    loop.add_output(0.0, counter(counts, 'c'), is_answered=True)
    for _ in range(200):  # of 1 ms
        loop.command(*HOLD)
        loop.turn()
    assert counts == {'a': 200, 'b': 20, 'c': 0}


def test_a_request_that_was_not_served_in_time_is_never_carried_out(arm):
    loop = SimulationLoop(frs.Simulation(arm), LoopSettings(realtime_priority=0), LIMITS)
    loop.warm_up()
    begun, go_on, done = threading.Event(), threading.Event(), []

    def long():
        begun.set()
        assert go_on.wait(10.0)
        return 'late'

    def fail():
        done.append(True)
        raise SimulationError('nobody waits for this')

    loop.start()
    try:
        answers = []
        first = threading.Thread(target=lambda: answers.append(loop.call(long, timeout=0.05)))
        first.start()
        assert begun.wait(10.0)
        assert refusal(SimulationError, loop.call, fail, timeout=0.05) == (
            'the simulation was busy for 0.05 s, so this was not done. Ask again'
        )
        go_on.set()
        first.join(10.0)
        assert answers == ['late']  # it had begun, so its answer is waited for
        assert loop.call(lambda: 'in time') == 'in time' and not done and loop.crash is None
    finally:
        go_on.set()
        loop.stop()


@pytest.mark.parametrize(
    'rate, step, jitter',
    [
        (50.0, 2e-3, 0.0),
        (50.0, 2e-3, 5e-4),
        (30.0, 1e-3, 0.0),
        (50.0, 0.015, 1e-3),
        (50.0, 0.02, 1e-6),
    ],
)
def test_a_rate_gate_keeps_its_rate_however_often_it_is_checked(rate, step, jitter):
    gate, rng, seconds = RateGate(rate), np.random.default_rng(1), 20.0
    times = np.arange(0.0, seconds, step)
    times += rng.uniform(0.0, 1.0, times.size) * jitter
    sent = [time for time in times if gate.is_due(time)]
    assert len(sent) == pytest.approx(seconds * rate, abs=1 + 0.001 * seconds * rate)
    assert np.diff(sent).max() < 1.0 / rate + step + 2 * jitter


def test_a_rate_gate_starts_again_after_a_gap_or_a_jump_back_in_time():
    gate = RateGate(10.0)
    for start in (5.0, 9.0, 1.0):
        assert [gate.is_due(start + late) for late in (0.0, 0.05, 0.1)] == [True, False, True]


def test_the_controller_inside_replaces_commands(make_loop):
    loop, clock = make_loop()
    loop.controller = lambda simulation: np.array([0.0, 1.0, 2.0])
    loop.command(*HOLD)
    run_until(loop, clock, 50.01)
    assert loop.simulation.effort.tolist() == [0.0, 1.0, 2.0]


def test_the_payload_changes_during_a_run_and_moves_to_another_link(make_loop):
    loop, _ = make_loop()
    inertia = loop.simulation._simulated.arrays.inertia.copy()
    loop.set_payload(PayloadSettings('tool', 0.2))
    assert not np.array_equal(loop.simulation._simulated.arrays.inertia, inertia)
    loop.set_payload(PayloadSettings('elbow_motor', 0.2))
    loop.set_payload(PayloadSettings())
    assert np.allclose(loop.simulation._simulated.arrays.inertia, inertia, rtol=0, atol=0)
    with pytest.raises(SettingError, match='payload_mass = 1 kg needs a payload_link'):
        loop.set_payload(PayloadSettings('', 1.0))


def test_a_period_must_hold_whole_steps(make_loop):
    with pytest.raises(SettingError) as caught:
        make_loop(period=1.5e-3)
    assert str(caught.value) == 'period = 0.0015 s must be a whole number of time_step = 0.001 s'


def test_in_a_thread_requests_are_carried_out_there_and_errors_come_back(arm):
    loop = SimulationLoop(frs.Simulation(arm), LoopSettings(realtime_priority=0), LIMITS)
    loop.warm_up()
    arrived = threading.Event()
    loop.add_output(1000.0, lambda simulation, effort: arrived.set())
    loop.start()
    try:
        assert arrived.wait(10.0)
        assert loop.call(lambda: threading.current_thread().name) == 'simulation'
        with pytest.raises(SimulationError, match='pause it'):
            loop.call(loop.step)
    finally:
        loop.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == 'simulation']


def test_what_ends_the_thread_is_kept(arm):
    loop = SimulationLoop(frs.Simulation(arm), LoopSettings(realtime_priority=0), LIMITS)

    def fail(simulation, effort):
        if threading.current_thread().name == 'simulation':
            raise ZeroDivisionError

    loop.add_output(1000.0, fail)
    loop.start()
    loop._thread.join(10.0)
    assert isinstance(loop.crash, ZeroDivisionError)


def test_wall_time_and_steps_are_those_of_the_periods(make_loop):
    loop, clock = make_loop(period=2e-3)
    assert (loop.wall_time, loop.steps) == (0.0, 0)
    run_until(loop, clock, 50.5)
    assert loop.steps == round(loop.simulation.time / 1e-3)
    assert loop.wall_time == pytest.approx(loop.simulation.time - 2e-3, abs=2e-4)  # 0.1 ms turns


def test_an_arm_that_waits_stands_still_until_the_first_command_and_makes_nothing_up(make_loop):
    loop, clock = make_loop(wait_for_command=True)
    run_until(loop, clock, 50.5)
    assert (loop.state, loop.simulation.time, loop.pacer.dropped) == (PAUSED, 0.0, 0.0)
    loop.command(*HOLD)
    run_until(loop, clock, 50.6)
    assert loop.state == RUNNING
    assert loop.simulation.time == pytest.approx(0.1, abs=1.5e-3)  # one period of 1 ms
    run_until(loop, clock, 51.2)  # the commands end, and it goes on
    assert loop.state == RUNNING and loop.commands.is_stale


def test_an_arm_that_waits_can_be_let_go_or_paused_by_hand_too(make_loop):
    loop, clock = make_loop(wait_for_command=True)
    loop.resume()
    run_until(loop, clock, 50.1)
    assert loop.simulation.time == pytest.approx(0.1, abs=1.5e-3)  # one period of 1 ms
    loop, clock = make_loop(wait_for_command=True)
    loop.pause()
    loop.command(*HOLD)
    run_until(loop, clock, 50.1)
    assert (loop.state, loop.simulation.time) == (PAUSED, 0.0)


def test_a_controller_inside_or_lockstep_does_not_wait(make_loop):
    loop, clock = make_loop(wait_for_command=True)
    loop.controller = lambda simulation: np.zeros(3)
    run_until(loop, clock, 50.1)
    assert loop.state == RUNNING and loop.simulation.time > 0.0
    loop, _ = make_loop(wait_for_command=True, pacing='lockstep')
    assert loop.state == RUNNING


def test_outputs_report_the_effort_of_the_motor_and_not_the_command():
    arm = frs.load('two_link', gravity=(0.0, 0.0, 0.0))
    simulation = frs.Simulation(arm, frs.SimulationSettings(drive_limits=True))
    loop, efforts = SimulationLoop(simulation, LoopSettings(), LIMITS, Clock()), []
    loop.add_output(1000.0, lambda _, effort: efforts.append(effort.tolist()))
    loop.command(['waist'], [8.0])
    waist = [0, frs.actuated_coordinates(arm)[0]]  # link and rotor

    def momentum():
        return (frs.mass_matrix(arm, simulation.q)[waist] @ simulation.v).sum()

    for rate, given in ((0.0, 8.0), (3.5, 0.0)):  # the URDF allows it 3 rad/s
        simulation.set_state(v=[rate, 0.0, 0.0])
        before = momentum()
        loop.step() if loop.state == PAUSED else loop.turn()
        assert efforts[-1] == pytest.approx([given, 0.0, 0.0])
        # in 1 ms, but for what the friction of the joint takes
        assert momentum() - before == pytest.approx(1e-3 * given, abs=1e-3)
        loop.state = PAUSED
    loop.reset()
    assert efforts[-1] == [0.0, 0.0, 0.0]


def test_a_reset_is_no_motion_to_the_encoders():
    builder = frs.ArmBuilder().add_rigid('arm', mass=1.0, centre=(0.2, 0.0, 0.0))
    builder.add_joint('hinge', parent='base', child='arm', axis='y')
    builder.add_encoder('hinge', resolution=1e-6, delay=5e-3)
    clock = Clock()
    loop = SimulationLoop(frs.Simulation(builder.build()), LoopSettings(), [np.inf], clock)
    loop.encoders = frs.Encoders(loop.simulation)
    measured = []
    loop.add_output(
        1000.0, lambda simulation, _: measured.append(loop.encoders.joints(simulation))
    )
    run_until(loop, clock, 50.3)
    assert abs(measured[-1][0][0]) > 0.1
    loop.reset()
    assert [values[0] for values in measured[-1]] == [0.0] * 4
