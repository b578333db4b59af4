"""
The shipped four-bar with a flexible coupler, compared with Exudyn.

It has no friction, no damping and no weight here, and a constant torque on its crank.
Floating frames of Exudyn take the shapes and matrices of our beam, without shortening. Its
geometrically exact beams share nothing with ours. Both sides are extrapolated to short steps.
"""

import re

import exudyn
import numpy as np
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from benchmarks.limits import Row
from benchmarks.loops.exudyn_linkage import Linkage
from benchmarks.precision import extrapolated, tip_error

TORQUE = 0.2  # on the crank: it makes more than a turn [N m]
SHEAR_OVER_STRETCH = 1 / 2.6
SAMPLES = 50
STEPS = {'floating': 40, 'exact': 20}  # of Exudyn in a sample of 0.02 s
STEP = 2e-4  # ours [s]
ELEMENTS = 16
SHAPES = '<modes bending_y="1" bending_z="4" torsion="1"/>'  # of the coupler, next to exact beams
NO_WEIGHT = (0.0, 0.0, 0.0)


def rows(quick):
    """Yield the Rows of this module."""
    samples = 5 if quick else SAMPLES
    floating, bending = _four_bar_error('floating', samples)
    yield Row(
        f'four_bar, bent by {bending:.1%} of its length, floating frames of Exudyn',
        floating,
        1e-4,
        'of the travel',
    )
    exact, _ = _four_bar_error('exact', samples)
    yield Row('four_bar, exact beams of Exudyn', exact, 5e-3, 'of the travel')


def undamped_four_bar(shapes=''):
    """Return the text of four_bar without friction and damping."""
    text = re.sub(r'<(dynamics|damping) [^>]*/>', '', frs.read_description('four_bar').text)
    return text.replace('<rectangle', f'{shapes}<rectangle', 1)


def _four_bar_error(kind, samples):
    """Return the error of the tip over its travel, and the bending over the length."""
    coupling, shapes = ('zero_order', '') if kind == 'floating' else ('shortening', SHAPES)
    arm = frs.load(undamped_four_bar(shapes), coupling=coupling, gravity=NO_WEIGHT)
    beam = arm.beams[arm.frames['coupler'].body]
    (coarse, bending), (fine, _) = (_ours(arm, beam, step, samples) for step in (STEP, STEP / 2))
    theirs = [
        four_bar_in_exudyn(arm, beam, kind).run(steps, 0.02 * samples, samples)['tip']
        for steps in (STEPS[kind], 2 * STEPS[kind])
    ]
    error = tip_error(extrapolated(*theirs)[:, :2], extrapolated(coarse, fine)[:, [0, 2]])
    return error, bending


def _ours(arm, beam, step, samples):
    """Return the path of the tip, (samples + 1, 3) [m], and the bending over the length."""
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    simulation.effort = [TORQUE, 0.0, 0.0]
    path, bending = [simulation.pose('tool')[:3, 3]], 0.0
    middle, end = beam.shape([beam.length / 2, beam.length])[:, 2]
    for _ in range(samples):
        simulation.step(round(0.02 / step))
        path.append(simulation.pose('tool')[:3, 3])
        bending = max(bending, abs((middle - end / 2) @ simulation.q[arm.elastic_q]))
    return np.array(path), bending / beam.length


def four_bar_in_exudyn(arm, beam, kind):
    """Return the Linkage of four_bar; its plane xz is xy there."""
    linkage = Linkage(NO_WEIGHT)
    place = {one.name: one.position[[0, 2]] for one in arm.description.joints}
    crank, rocker = (
        linkage.rigid_bar(
            [*place[f'{name}_joint'], 0.0],
            _turned(angle),
            length,
            *_inertia(arm.description.link(name), angle),
        )
        for name, angle, length in (('crank', 0.0, 0.2), ('rocker', np.pi / 2, 0.4))
    )
    start, R = np.array([0.2, 0.0, 0.0]), _turned(np.arctan2(0.4, 0.3))
    if kind == 'floating':
        # the beam bends along its z axis, which is in the plane
        axes = R @ Rotation.from_euler('x', np.pi / 2).as_matrix()
        coupler = linkage.floating_bar(start, axes, beam)
    else:
        coupler = linkage.exact_bar(start, R, beam.length, _section(beam.section), ELEMENTS)
    linkage.hinge(linkage.ground([0.0, 0.0, 0.0]), crank.root)
    linkage.hinge(linkage.ground([0.5, 0.0, 0.0]), rocker.root)
    linkage.hinge(crank.tip, coupler.root)
    linkage.hinge(rocker.tip, coupler.tip, is_planar=True)
    linkage.apply_torque(crank.tip, TORQUE)
    linkage.watch('tip', coupler.tip)
    return linkage


def _inertia(link, angle):
    """Mass, centre and inertia of a bar of the plane xz, in axes along it, z across the plane."""
    one = link.inertial
    # from the axes of the base to those of the bar: y of the link is -z of the plane xy
    R = _turned(angle).T @ np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    return one.mass, R @ one.centre, R @ one.inertia @ R.T


def _section(section):
    """Section of exudyn, with our axes y and z exchanged: its z is across the plane."""
    one, shear = exudyn.BeamSection(), section.EA * SHEAR_OVER_STRETCH
    stiffness = [section.EA, shear, shear, section.GJ, section.EIz, section.EIy]
    one.stiffnessMatrix = np.diag(stiffness)
    one.inertia = np.diag(section.inertia[[0, 2, 1]])
    one.massPerLength = section.mass_per_length
    return one


def _turned(angle):
    return Rotation.from_euler('z', angle).as_matrix()
