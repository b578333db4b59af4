"""The emulated rig of a robot description."""

from flex_robot_sim.assembly import load
from flex_robot_sim.rig.bench import Bench
from flex_robot_sim.rig.emulated_rig import EmulatedRig
from flex_robot_sim.rig.vocabulary import CONSTANTS


def rig_of(robot='rig', seed=0, parts=None):
    """Return an EmulatedRig whose bench carries this robot, with noise of this seed."""
    return EmulatedRig(Bench(load(robot), parts, seed,
                             conversions=CONSTANTS['ADC_CONVERSIONS'][0]))
