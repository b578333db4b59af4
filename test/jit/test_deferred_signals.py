"""Ctrl-C or an alarm during compilation is neither lost nor changed into another error."""

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from llvmlite.binding import ffi
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock
from tuned_numba import needs_tuned_numba

import flex_robot_sim as frs
from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.jit.deferred_signals import deferred_signals, deliver_signals
from flex_robot_sim.start import run_text


class PressesCtrlC(event.Listener):
    """Interrupt at the start of compilation, in a finaliser as in Numba and LLVM."""

    def on_start(self, event):
        """Make what does so when it goes."""
        _InterruptsAtItsEnd()

    def on_end(self, event):
        """Do nothing."""


class _InterruptsAtItsEnd:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        # the interpreter looks for signals between two calls
        sum(range(10))


def interrupted_call(function, *arguments):
    with event.install_listener('numba:compile', PressesCtrlC()):
        return function(*arguments)


def make_functions():
    """Return a compiled function that calls another one, both fresh."""

    @compiled
    def inner(x):
        return 2.0 * x

    @compiled
    def outer(x):
        return inner(x) + 1.0

    return outer


@pytest.mark.slow
@needs_tuned_numba
def test_ctrl_c_in_a_finaliser_of_the_compiler_is_not_lost():
    function, before = make_functions(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupted_call(function, 3.0)
    assert signal.getsignal(signal.SIGINT) is before
    assert function(3.0) == 7.0
    # and Ctrl-C is what it was
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
@needs_tuned_numba
def test_a_handler_that_does_not_raise_is_called_and_compilation_continues():
    calls, function = [], make_functions()
    before = signal.signal(signal.SIGINT, lambda *words: calls.append(words[0]))
    try:
        assert interrupted_call(function, 3.0) == 7.0
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls and set(calls) == {signal.SIGINT}


@needs_tuned_numba
def test_a_thread_compiles_while_the_main_thread_receives_signals():
    function, results = make_functions(), []
    thread = threading.Thread(target=lambda: results.append(function(3.0)))
    thread.start()
    thread.join()
    assert results == [7.0]


class TimeIsUp(Exception):
    """What a handler raises."""


def test_alarms_at_every_moment_leave_handlers_as_they_were():
    at_work, raised = False, 0

    def give_up(*_):
        nonlocal at_work, raised
        if at_work:
            at_work, raised = False, raised + 1
            raise TimeIsUp

    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    before = signal.signal(signal.SIGALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        for _ in range(5000):
            try:
                at_work = True
                with deferred_signals():
                    pass
                at_work = False
            except TimeIsUp:
                pass
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        assert raised > 20 and signal.getsignal(signal.SIGALRM) is give_up
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == handlers


def test_two_signals_are_both_delivered_even_if_the_first_raises():
    seen = []

    def note(number, _):
        seen.append(number)
        raise TimeIsUp

    numbers = signal.SIGUSR1, signal.SIGUSR2
    before = [signal.signal(number, note) for number in numbers]
    try:
        with pytest.raises(TimeIsUp), deferred_signals():
            for number in numbers:
                signal.raise_signal(number)
            assert not seen
        assert sorted(seen) == sorted(numbers)
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def test_other_threads_leave_signals_to_the_main_thread():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.current_thread()))
    try:
        with deferred_signals():
            signal.raise_signal(signal.SIGUSR1)
            thread = threading.Thread(target=deliver_signals)
            thread.start()
            thread.join()
            assert not seen
        assert seen == [threading.main_thread()]
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.slow
@needs_tuned_numba
def test_alarms_at_every_moment_leave_no_lock_of_llvm_or_numba_taken():
    at_work, raised, random = False, 0, Random(1)
    arm = frs.load('two_link')

    def give_up(*_):
        nonlocal at_work, raised
        if at_work:
            at_work, raised = False, raised + 1
            raise TimeIsUp

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        frs.Simulation(arm)
        for _ in range(4000):
            try:
                at_work = True
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 1e-3))
                frs.Simulation(arm)
                at_work = False
            except TimeIsUp:
                pass
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    # another thread would wait for ever for a lock that this one still has
    with ThreadPoolExecutor(1) as pool:
        locks = ffi.lib._lock._lock, global_compiler_lock._lock
        taken = [pool.submit(lock.acquire, timeout=10.0).result() for lock in locks]
        for lock, is_taken in zip(locks, taken):
            pool.submit(lock.release if is_taken else bool).result()
    assert raised > 100 and all(taken)


# an alarm whenever LLVM asks for machine code, by a callback that must not fail
LOADS = """
import signal
from numba.core import codegen, event, registry
import flex_robot_sim as frs

class TimeIsUp(TimeoutError):   # an OSError, as files may raise
    pass

asks = codegen.CPUCodeLibrary._object_getbuffer_hook
def ring(module):
    if signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        signal.raise_signal(signal.SIGALRM)
    return asks(module)
codegen.CPUCodeLibrary._object_getbuffer_hook = ring
registry.cpu_target.target_context      # for its own functions, Numba asks for nothing

raised = []
def give_up(*_):
    raised.append(TimeIsUp())
    raise raised[-1]
signal.signal(signal.SIGALRM, give_up)
arm, seen = frs.load('single_link'), []
with event.install_recorder('numba:compile') as compiled:
    while True:
        try:
            frs.Simulation(arm).step(10)
            break
        except TimeIsUp as alarm:
            seen += [alarm.__context__, alarm] if alarm.__context__ else [alarm]   # two at once
print(len(seen) > 0, seen == raised, len(compiled.buffer))
"""


@pytest.mark.slow
@needs_tuned_numba
def test_alarms_while_machine_code_is_loaded_are_not_lost_and_cause_no_recompilation():
    subprocess.run(
        run_text("import flex_robot_sim as frs; frs.Simulation(frs.load('single_link')).step()"),
        check=True,
    )
    run = subprocess.run(run_text(LOADS), capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, 'True True 0\n', '')


def test_where_ctrl_c_is_ignored_it_stays_so():
    function, before = make_functions(), signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert interrupted_call(function, 3.0) == 7.0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
