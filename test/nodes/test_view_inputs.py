"""What the view node keeps of messages, without a node."""

import json
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from contact_arms import slider
from geometry_msgs.msg import WrenchStamped
from reduced_bar import write_bar

import flex_robot_sim as frs
from flex_robot_sim.model.described_text import reduced_files
from flex_robot_sim.nodes import view_inputs
from flex_robot_sim.nodes.view import ViewNode
from flex_robot_sim.nodes.view_inputs import ViewInputs
from flex_robot_sim.viewer.observed import ObservedArm


@pytest.fixture
def topics(monkeypatch):
    """Names of the topics to which inputs listen."""
    names = []
    monkeypatch.setattr(
        view_inputs, 'subscribe', lambda _node, topic, *_: names.append(topic.name)
    )
    return names


def test_a_link_bends_again_as_soon_as_the_dynamics_has_the_same_file(tmp_path, topics):
    arm = frs.load(write_bar(tmp_path))
    observed = ObservedArm(arm)
    inputs = ViewInputs(MagicMock(), arm, observed)
    node = SimpleNamespace(_files=reduced_files(arm), _inputs=inputs, get_logger=MagicMock())
    (digest,) = node._files.values()
    names = [arm.coordinate_names[k] for k in range(arm.size)[arm.elastic_q]]
    message = MagicMock()

    def shown(parameters):
        ViewNode._compare_files(node, parameters)
        inputs._on_flex(0.0, message)
        return bool(observed.coordinates[arm.elastic_q].any())

    def of(digest):
        return {'dynamics': {'reduced_files': json.dumps({'arm': digest})}}

    message.name, message.position = names, np.full(len(names), 0.01)
    assert shown({}) and shown(of(digest)) and observed.notes == []
    assert not shown(of('another')) and len(observed.notes) == 1
    assert not shown({})  # the dynamics restarts
    assert shown(of(digest)) and observed.notes == []
    assert not shown(of('another'))
    assert node.get_logger.return_value.warning.call_count == 2


def test_forces_of_contacts_are_kept_by_name_and_must_be_finite(tmp_path, topics):
    path = tmp_path / 'ball.urdf'
    path.write_text(slider().replace('name="tool"', 'name="my tool"'))
    arm = frs.load(path)
    observed = ObservedArm(arm)
    inputs, message = ViewInputs(MagicMock(), arm, observed), WrenchStamped()
    assert 'contacts/my_tool' in topics
    message.wrench.force.z, message.wrench.torque.x = 3.0, 0.5
    inputs._on_contact('my tool', 0.0, message)
    assert observed.contact_wrenches['my tool'] == pytest.approx([0.5, 0, 0, 0, 0, 3.0])
    message.wrench.force.z = np.nan
    inputs._on_contact('my tool', 0.0, message)
    assert observed.contact_wrenches['my tool'][5] == 3.0
