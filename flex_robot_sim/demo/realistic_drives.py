"""
Rotor inertia and damping for robots whose description omits them.

Papers often omit them. But a beam moves a drive without inertia faster than commands arrive. A
controller with a period of a few milliseconds cannot hold such an arm.
"""

from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.description.document import Document
from flex_robot_sim.model.arm_model import ArmModel

# rotor inertia over joint-space inertia, and modal damping ratios, tried in this order
DRIVE_LEVELS = ((0.02, 0.005), (0.05, 0.005), (0.1, 0.01), (0.2, 0.01), (0.5, 0.02), (1.0, 0.02))


def with_realistic_drives(arm: ArmModel, rotor_share: float, damping: float) -> str:
    """
    Return the description text of `arm`, with rotors and damping raised to these values.

    :param rotor_share: lower bound of reflected rotor inertia over joint-space inertia.
    :param damping: damping ratio of the modes of links without damping.
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
        if joint.reflected_inertia < rotor_share * inertia:
            element = elements.get(name)
            if element is None:
                element = root.makeelement('joint', {'name': name})
                flexibility.append(element)
            element.set('rotor_inertia', repr(float(rotor_share * inertia / joint.gear_ratio**2)))
    for element in flexibility.findall('link'):
        beam = arm.description.link(element.get('name')).beam
        if beam is not None and beam.damping_ratio == beam.damping_time == 0.0:
            for old in element.findall('damping'):
                element.remove(old)
            element.append(root.makeelement('damping', {'ratio': repr(damping)}))
    return document.changed_text()
