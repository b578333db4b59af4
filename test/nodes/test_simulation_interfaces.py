"""
Services of simulation_interfaces, with stand-ins for its types: no wheel has the package.

The constants are those of its definitions; where the package is installed, the last test uses it.
"""

from types import SimpleNamespace

import pytest

import flex_robot_sim as frs
from flex_robot_sim.nodes.simulation_interfaces import FEATURES, SimulationInterfaces
from flex_robot_sim.realtime.loop import PAUSED, RUNNING, SimulationLoop
from flex_robot_sim.realtime.loop_settings import LoopSettings

KINDS = SimpleNamespace(
    SimulatorFeatures=SimpleNamespace(**{name: i for i, name in enumerate(FEATURES)}),
    SimulationState=SimpleNamespace(
        STATE_STOPPED=0, STATE_PLAYING=1, STATE_PAUSED=2, STATE_QUITTING=3
    ),
    Result=SimpleNamespace(RESULT_FEATURE_UNSUPPORTED=0, RESULT_OK=1, RESULT_OPERATION_FAILED=4),
)
SERVICES = SimpleNamespace(
    GetSimulatorFeatures=None,
    GetSimulationState=None,
    StepSimulation=None,
    SetSimulationState=SimpleNamespace(Response=SimpleNamespace(ALREADY_IN_TARGET_STATE=101)),
    ResetSimulation=SimpleNamespace(
        Request=SimpleNamespace(SCOPE_DEFAULT=0, SCOPE_TIME=1, SCOPE_STATE=2, SCOPE_ALL=255)
    ),
)


@pytest.fixture
def loop():
    arm = frs.load('two_link')
    return SimulationLoop(frs.Simulation(arm), LoopSettings(), [float('inf')] * 3, lambda: 0.0)


@pytest.fixture
def services(loop):
    names: list = []
    node = SimpleNamespace(
        names=names, create_service=lambda kind, name, handler: names.append(name)
    )
    services = SimulationInterfaces(node, loop, KINDS, SERVICES)
    assert node.names == [
        'get_simulator_features',
        'get_simulation_state',
        'set_simulation_state',
        'step_simulation',
        'reset_simulation',
    ]
    return services


def ask(handler, **request):
    response = SimpleNamespace(
        result=SimpleNamespace(result=None, error_message=''),
        state=SimpleNamespace(state=None),
        features=SimpleNamespace(features=None),
    )
    return handler(SimpleNamespace(**request), response)


def change(services, state):
    return ask(services.set_state, state=SimpleNamespace(state=state)).result.result


def test_it_plays_pauses_and_stops(services, loop):
    assert ask(services.get_state).state.state == 1
    assert change(services, 2) == 1 and loop.state == PAUSED
    assert change(services, 2) == 101
    assert change(services, 1) == 1 and loop.state == RUNNING
    assert change(services, 0) == 1 and loop.state == PAUSED
    assert change(services, 3) == 0


def test_stopped_and_paused_are_two_states(services, loop):
    change(services, 0)
    assert ask(services.get_state).state.state == 0
    assert change(services, 0) == 101  # it is stopped already
    assert change(services, 2) == 1  # from stopped to paused is a change
    assert ask(services.get_state).state.state == 2
    change(services, 0)
    ask(services.step, steps=1)  # after a step it is no longer at its start
    assert ask(services.get_state).state.state == 2
    change(services, 0)
    assert change(services, 1) == 1
    assert ask(services.get_state).state.state == 1


def test_steps_are_taken_while_paused_only(services, loop):
    refused = ask(services.step, steps=5).result
    assert refused.result == 4 and 'pause it' in refused.error_message
    change(services, 2)
    assert ask(services.step, steps=250).result.result == 1
    assert loop.simulation.time == pytest.approx(0.25)


def test_a_reset_puts_the_state_back_and_never_time(services, loop):
    change(services, 2)
    ask(services.step, steps=20)
    assert loop.simulation.position.any()
    # time, spawned entities, all: no answer claims a reset that has not happened
    for scope in 1, 4, 6, 255:
        refused = ask(services.reset, scope=scope).result
        assert refused.result == 0 and 'nothing was reset' in refused.error_message
        assert loop.simulation.position.any()
    assert ask(services.reset, scope=2).result.result == 1
    assert not loop.simulation.position.any() and loop.simulation.time == pytest.approx(0.02)


def test_it_says_what_it_can(services):
    assert ask(services.get_features).features.features == list(range(len(FEATURES)))


def test_with_the_real_package_the_node_offers_them(start, observer):
    services = pytest.importorskip('simulation_interfaces.srv')
    start('dynamics', robot='two_link')
    answer = observer.call(services.GetSimulationState, 'get_simulation_state')
    assert answer.result.result == 1
