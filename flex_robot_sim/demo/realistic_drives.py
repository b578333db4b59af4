"""
What a built arm has, for a robot whose description leaves it out: rotors, and some damping.

Papers do without. But a controller that sees a joint every few milliseconds cannot hold a beam by
a drive without inertia, since the beam shakes it faster than commands come.
"""

from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.description.document import Document
from flex_robot_sim.model.arm_model import ArmModel

# shares of the inertia that a joint feels, and damping ratios, tried in turn
BUILT = ((0.02, 0.005), (0.05, 0.005), (0.1, 0.01), (0.2, 0.01), (0.5, 0.02), (1.0, 0.02))


def with_realistic_drives(arm: ArmModel, share: float, damping: float) -> str:
    """
    Return the text of the description of `arm` with rotors and damping where it has too little.

    :param share: least inertia of a rotor behind its gear, over what its joint moves.
    :param damping: ratio of every mode of a link that has none.
    """
    document = Document(arm.description.source, arm.description.text.encode())
    root = document.root
    flexibility = root.find('flexibility')
    if flexibility is None:
        flexibility = root.makeelement('flexibility', {})
        root.append(flexibility)
    elements = {element.get('name'): element for element in flexibility.findall('joint')}
    for name, inertia in zip(arm.joint_names, joint_space_inertia(arm).largest):
        joint = arm.description.joint(name)
        if joint.reflected_inertia < share * inertia:
            element = elements.get(name)
            if element is None:
                element = root.makeelement('joint', {'name': name})
                flexibility.append(element)
            element.set('rotor_inertia', repr(float(share * inertia / joint.gear_ratio**2)))
    for element in flexibility.findall('link'):
        beam = arm.description.link(element.get('name')).beam
        if beam is not None and beam.damping_ratio == beam.damping_time == 0.0:
            for none in element.findall('damping'):
                element.remove(none)
            element.append(root.makeelement('damping', {'ratio': repr(damping)}))
    return document.changed_text()
