"""What is asked of an experiment: how long, in which variant, with which numbers of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flex_robot_sim.description import read_description
from flex_robot_sim.description.parameters import (
    expect_possible,
    near,
    parameters_of,
    with_parameters,
)
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import UsageError

PAPER = 'paper'


@dataclass(frozen=True)
class Options:
    """Options of an experiment."""

    seconds: float | None = None        # None: as long as in the paper                 [s]
    variant: str = ''                   # PAPER: the paper's own equations; '': ours
    values: Mapping[str, float] = field(default_factory=dict)   # numbers of the robot by name
    second: Mapping[str, float] = field(default_factory=dict)   # of one of two models only
    origins: Mapping[str, float] = field(default_factory=dict)  # joint -> factor of its offset
    formulations: bool = True           # whether the other formulations run through it

    @property
    def is_paper(self) -> bool:
        """Whether the paper's own variant is asked for."""
        return self.variant == PAPER

    def described(self, source: str) -> RobotDescription:
        """
        Return a robot with the numbers that are set.

        :param source: name or text of a robot. Numbers that it does not have are left out: a rigid
            version of an arm has no stiffness. `check_values` refuses those of the main robot.
        """
        description = read_description(source)
        known = parameters_of(description)
        description = with_parameters(description, {
            name: value for name, value in self.values.items() if name in known})
        return replace(description, joints=tuple(
            replace(joint, position=joint.position * self.origins.get(joint.name, 1.0))
            for joint in description.joints))

    def arm(self, source: str, coupling: str = 'shortening') -> ArmModel:
        """Return the ArmModel of `described`."""
        return build_arm(self.described(source), coupling)


def check_values(experiment: str, source: str, values: Mapping[str, float],
                 varied: tuple[str, ...] = ()) -> None:
    """
    Refuse numbers that the robot of an experiment does not have or cannot have.

    :param source: name or text of the robot; varied: words of numbers that the experiment varies.
    """
    description = read_description(source)
    known = parameters_of(description)
    for name, value in values.items():
        if name not in known:
            raise UsageError(f'{experiment}: no parameter "{name}". {near(name, known)}')
        if is_varied(description, varied, name):
            raise UsageError(f'{experiment}: {name} cannot be set: the experiment varies it for '
                             'its figures.')
        expect_possible(description, name, value)


def is_varied(description: RobotDescription, varied: tuple[str, ...], name: str) -> bool:
    """Whether the number `name` is one of the words of a joint that an experiment varies."""
    joint, _, word = name.rpartition('.')
    return word in varied and joint in description.joint_names


def values_of(words: list[str]) -> dict[str, float]:
    """Return {name: value} of words NAME=VALUE; UsageError about one that is none."""
    found: dict[str, float] = {}
    for word in words:
        name, sign, value = word.partition('=')
        try:
            if not (name and sign):
                raise ValueError
            number = float(value)
        except ValueError:
            raise UsageError(f'--set {word}: write NAME=VALUE, such as forearm.EIz=12.') from None
        if name in found:
            raise UsageError(f'--set {name} is given twice. Give it once.')
        found[name] = number
    return found
