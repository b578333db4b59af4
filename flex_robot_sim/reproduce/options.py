"""Options of an experiment: duration, variant, and parameters of the robot."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.robot_parameters import near, parameters_of, with_parameters
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import UsageError

PAPER = 'paper'


@dataclass(frozen=True)
class Options:
    """Options of an experiment."""

    seconds: float | None = None  # None: as long as in the paper                 [s]
    variant: str = ''  # PAPER: the paper's own equations; '': ours
    # parameters of the robot by name
    values: Mapping[str, float] = field(default_factory=dict)
    # parameters of the second model only, if an experiment compares two models
    second_model_values: Mapping[str, float] = field(default_factory=dict)
    runs_formulations: bool = True  # whether the other formulations run the experiment, too

    @property
    def is_paper(self) -> bool:
        """Whether the run uses the paper's own variant."""
        return self.variant == PAPER

    def load_description(self, source: str) -> RobotDescription:
        """
        Return the description of a robot with the parameters of these options.

        :param source: name or URDF text of a robot. Parameters that it does not have are ignored:
            a rigid version of an arm has no stiffness. `check_values` rejects unknown parameters
            of the main robot.
        """
        description = read_description(source)
        known = parameters_of(description)
        return with_parameters(
            description, {name: value for name, value in self.values.items() if name in known}
        )

    def load_arm(self, source: str, coupling: str = 'shortening') -> ArmModel:
        """Return the ArmModel of `load_description`."""
        return build_arm(self.load_description(source), coupling)


def check_values(
    experiment: str, source: str, values: Mapping[str, float], varied: tuple[str, ...] = ()
) -> None:
    """
    Reject parameters that the robot does not have, and values that are out of range.

    :param source: name or URDF text of the robot.
    :param varied: joint parameters that the experiment varies, such as 'stiffness'.
    """
    description = read_description(source)
    known = parameters_of(description)
    for name, value in values.items():
        if name not in known:
            raise UsageError(f'{experiment}: no parameter "{name}". {near(name, known)}')
        if is_varied(description, varied, name):
            raise UsageError(
                f'{experiment}: {name} cannot be set: the experiment varies it for its figures.'
            )
        with_parameters(description, {name: value})  # refuses an impossible value


def is_varied(description: RobotDescription, varied: tuple[str, ...], name: str) -> bool:
    """Whether `name` is a joint parameter that the experiment varies."""
    joint, _, word = name.rpartition('.')
    return word in varied and joint in description.joint_names


def parse_values(assignments: list[str]) -> dict[str, float]:
    """Return {name: value} of assignments NAME=VALUE; UsageError if one is malformed."""
    values: dict[str, float] = {}
    for assignment in assignments:
        name, separator, value = assignment.partition('=')
        try:
            if not (name and separator):
                raise ValueError
            number = float(value)
        except ValueError:
            raise UsageError(
                f'--set {assignment}: write NAME=VALUE, such as forearm.EIz=12.'
            ) from None
        if name in values:
            raise UsageError(f'--set {name} is given twice. Give it once.')
        values[name] = number
    return values
