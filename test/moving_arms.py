"""Arms for tests of motion over time, as text and as ArmModels."""

import functools

from arms import Z, beam, flexibility, joint, link, robot

from flex_robot_sim import read_description
from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.model.assembly import build_arm

WEIGHTLESS = (0.0, 0.0, 0.0)
EI = 30.0
BEAM = f'<section EIy="{EI}" EIz="{EI}"/>'
LEVEL = '<modes bending_y="3" bending_z="0" torsion="0"/>'
ROD = 1 / 6 + 2 * 0.5**2  # inertia of the rod of `rigid_arm` about its hinge [kg m2]
PLAIN = '<modes bending_y="1" bending_z="1" torsion="0"/>'


def hinge(name, parent, child, axis, place='0 0 0', friction='0'):
    """Return a joint without stops."""
    return joint(
        name,
        'continuous',
        parent,
        child,
        f'<origin xyz="{place}"/><axis xyz="{axis}"/><dynamics damping="{friction}"/>',
    )


def swinging_text(modes=PLAIN, damping='0', friction='0', gear='', section='EA="1e6" GJ="10"'):
    """
    Return an arm of two flexible links, each 1 m and 2 kg, with a tool of 1 kg.

    The first hinge is vertical, the second horizontal.

    :param gear: attributes of both <joint> in <flexibility>.
    """
    parts = f'<section EIy="60" EIz="90" {section}/>{modes}<damping ratio="{damping}"/>'
    gears = [f'<joint name="{name}" {gear}/>' for name in ('waist', 'elbow') if gear]
    return robot(
        hinge('waist', 'base', 'arm', '0 0 1', friction=friction),
        link(),
        hinge('elbow', 'arm', 'forearm', '0 1 0', '1 0 0', friction),
        link('forearm'),
        joint('mount', 'fixed', 'forearm', 'tool', '<origin xyz="1 0 0"/>'),
        link('tool', 1.0, '0.05 0 0.02', (2e-3, 3e-3, 4e-3)),
        flexibility(beam(parts), beam(parts, name='forearm'), *gears),
    )


@functools.cache
def swinging_arm(coupling='shortening', gravity=GRAVITY, **options):
    """Return the ArmModel of `swinging_text`."""
    return build_arm(read_description(swinging_text(**options)), coupling, gravity)


def clamped_text(inside, tip_mass=0.0):
    """Return a beam of 1 m and 2 kg, fixed to the base, that may carry a point mass."""
    tool = (
        link('tool', tip_mass, '0 0 0', (1e-9, 1e-9, 1e-9)) if tip_mass else '<link name="tool"/>'
    )
    return robot(
        link(),
        joint('clamp', 'fixed', inside=''),
        tool,
        joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'),
        flexibility(beam(inside)),
    )


def clamped_arm(inside, coupling='shortening', gravity=WEIGHTLESS, tip_mass=0.0):
    """Return the ArmModel of `clamped_text`."""
    return build_arm(read_description(clamped_text(inside, tip_mass)), coupling, gravity)


def rigid_arm(inside=Z, **options):
    """Return the ArmModel of a rigid rod of 1 m and 2 kg on a hinge, with a tool at its end."""
    return build_arm(
        read_description(
            robot(
                joint(inside=inside),
                link(),
                '<link name="tool"/>',
                joint('mount', 'fixed', 'arm', 'tool', '<origin xyz="1 0 0"/>'),
            )
        ),
        **options,
    )
