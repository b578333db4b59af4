"""Arms with a free base, and their motion in flight."""

import re

import numpy as np

import flex_robot_sim as frs

# a satellite with two flexible links; 23 kg
SPACE_ARM = """<robot name="space_arm"><link name="world"/>
<link name="bus"><inertial><origin xyz="0.1 0.05 -0.02"/><mass value="20"/>
  <inertia ixx="1" iyy="1.5" izz="2" ixy="0.1" ixz="0" iyz="0"/></inertial></link>
<joint name="anchor" type="floating"><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
  <parent link="world"/><child link="bus"/></joint>
<link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
  <inertia ixx="0.0005" iyy="0.1667" izz="0.1667" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><origin xyz="0.3 0.1 0.2"/>
  <parent link="bus"/><child link="upper"/><axis xyz="0 0 1"/></joint>
<link name="fore"><inertial><origin xyz="0.4 0 0"/><mass value="1"/>
  <inertia ixx="0.0005" iyy="0.0533" izz="0.0533" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><origin xyz="1 0 0"/>
  <parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/></joint>
<flexibility>
  <link name="upper" end="1 0 0"><section EIy="300" EIz="300" GJ="100"/></link>
  <link name="fore" end="0.8 0 0"><section EIy="100" EIz="100" GJ="50"/></link>
</flexibility></robot>"""


INERTIAL = """<inertial><origin xyz="0.1 -0.2 0.05"/><mass value="3"/>
<inertia ixx="0.1" iyy="0.15" izz="0.2" ixy="0.01" ixz="0" iyz="0"/></inertial>"""


def freed(text, kind='floating', axis='0 0 1'):
    """Return a robot whose base link, without a mass, gets one and is free in a new root."""
    base = re.findall('<link name="([^"]*)"/>', text)[0]
    return text.replace(
        f'<link name="{base}"/>',
        f'<link name="world"/><joint name="anchor" type="{kind}"><parent link="world"/>'
        f'<child link="{base}"/><axis xyz="{axis}"/></joint><link name="{base}">{INERTIAL}</link>',
        1,
    )


def with_free_root(text, kind='floating'):
    """Return a robot whose root link, named by its joints, is free."""
    children = re.findall(r'<child\s+link="([^"]*)"', text)
    (root,) = {*re.findall(r'<link\s+name="([^"]*)"', text)}.difference(children)
    (start,) = re.findall('<robot[^>]*>', text)
    return text.replace(
        start,
        f'{start}<link name="world_frame"/><joint name="anchor" type="{kind}">'
        f'<parent link="world_frame"/><child link="{root}"/><axis xyz="0 0 1"/></joint>',
        1,
    )


def violent(arm, rate, time_step=1e-3, seed=1):
    """Return a Simulation whose joints and base have random rates."""
    sim, v = frs.Simulation(arm, frs.SimulationSettings(time_step=time_step)), np.zeros(arm.nv)
    rng = np.random.default_rng(seed)
    arm.set_joints(v, rate * rng.normal(size=len(arm.joint_names)))
    v[arm.base_q] = rate * rng.normal(size=len(arm.arrays.base))
    sim.set_state(v=v)
    return sim


def largest_rise(sim, steps):
    """Largest rise of the energy in a step, over the energy at the start; and the momentum's."""
    momentum, last, rise = sim.momentum(), sim.energy(), 0.0
    scale = last.kinetic + last.strain
    for _ in range(steps):
        sim.step()
        energy = sim.energy()
        rise = max(rise, energy.kinetic + energy.strain - last.kinetic - last.strain)
        last = energy
    return rise / scale, abs(sim.momentum() - momentum).max() / abs(momentum).max()
