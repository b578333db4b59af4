"""What tests of systems share."""

import pytest


@pytest.fixture(autouse=True)
def install_control_msgs(monkeypatch):
    """Return what lets control_msgs count as installed; until it is called, it does not."""

    def install(is_installed=True):
        monkeypatch.setattr(
            'flex_robot_sim.system.processes.has_control_msgs', lambda: is_installed
        )

    install(False)
    return install
