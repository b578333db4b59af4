"""What tests of the bridge node share."""

from std_srvs.srv import SetBool

# test, bench and DDS share two cores: half the telemetry, and more patience with silence
CALM = {'robot': 'rig', 'telemetry_rate': 250, 'validity': 100, 'stale_after': 0.5}


def enable(observer, is_on=True):
    """Call ~/enable and return its response."""
    return observer.call(SetBool, '/bridge/enable', SetBool.Request(data=is_on))


def of_bridge(message):
    """Whether a DiagnosticArray is from the bridge."""
    return message.status[0].name == '/bridge: rig'
