"""Emulated rig for a robot description."""

from pathlib import Path

from flex_robot_sim.model.assembly import load
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS


def rig_of(robot: str | Path = 'rig', seed: int = 0,
           parts: BenchParts | None = None) -> EmulatedRig:
    """Return an EmulatedRig whose bench carries this robot, with noise of this seed."""
    return EmulatedRig(Bench(load(robot), parts, seed,
                             conversions=CONVERSIONS))
