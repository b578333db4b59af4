"""Domain randomisation: numbers of an arm drawn for every episode, by validated laws."""

from collections.abc import Mapping

import numpy as np

from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.robot_parameters import near, parameters_of, with_parameters
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.sweeps.forms import Form, form_of
from flex_robot_sim.util.exceptions import UsageError

PAYLOAD = 'payload'


class Laws:
    """Probability law of each number that varies."""

    def __init__(
        self,
        description: RobotDescription,
        vary: Mapping[str, str] | None,
        scale: Mapping[str, str] | None,
    ) -> None:
        """
        Read the laws; UsageError if one of them contains an impossible number.

        Samples of a normal law are clipped to the possible range.

        :param vary: name -> law as in `sweeps/forms.py`, for numbers of the URDF and `payload`.
        :param scale: the same, in multiples of the value in the URDF.
        """
        self._description, self._parameters = description, parameters_of(description)
        self._forms: dict[str, Form] = {}
        vary, scale = (_expected(name, laws) for name, laws in (('vary', vary), ('scale', scale)))
        for name, words in [*vary.items(), *scale.items()]:
            if name in self._forms:
                raise UsageError(f'{name} varies twice. Vary it or scale it.')
            if name not in self._parameters and (name != PAYLOAD or name in scale):
                raise UsageError(
                    f'no parameter "{name}". {near(str(name), [PAYLOAD, *self._parameters])}'
                )
            form = form_of(name, words)
            self._forms[name] = self._scaled(name, form) if name in scale else form
            self._expect_possible(name)

    @property
    def vary_arms(self) -> bool:
        """Whether numbers of the URDF vary."""
        return any(name != PAYLOAD for name in self._forms)

    @property
    def vary_payload(self) -> bool:
        """Whether the payload varies."""
        return PAYLOAD in self._forms

    def draw_arm(self, rng: np.random.Generator) -> ArmModel:
        """Return an arm with drawn numbers."""
        return build_arm(
            with_parameters(
                self._description,
                {name: self._draw(name, rng) for name in self._forms if name != PAYLOAD},
            )
        )

    def draw_payload(self, rng: np.random.Generator) -> float:
        """Return a drawn payload mass [kg]."""
        return self._draw(PAYLOAD, rng)

    def _draw(self, name, rng):
        lower, upper = self._bounds(name)
        number = float(self._forms[name].quantile(rng.uniform(size=1))[0])
        return min(max(number, lower), upper) if self._forms[name].kind == 'normal' else number

    def _bounds(self, name):
        return self._parameters[name].search_range if name in self._parameters else (0.0, np.inf)

    def _scaled(self, name, form):
        factor = self._parameters[name].value
        if factor == 0.0:
            raise UsageError(
                f'{name} is 0 as described, and no multiple of it is anything else. '
                'Vary it by values.'
            )
        return Form(form.kind, tuple(factor * number for number in form.numbers))

    def _expect_possible(self, name):
        kind, numbers = self._forms[name]
        for number in numbers[:1] if kind == 'normal' else (min(numbers), max(numbers)):
            if name in self._parameters:
                with_parameters(self._description, {name: number})
            elif number < 0.0:
                raise UsageError(f'{name} = {number:g} cannot be: it must be at least 0.')


def _expected(argument, laws):
    if laws is not None and not isinstance(laws, Mapping):
        raise UsageError(f'{argument} = {laws!r:.100} must be a dict from names to laws.')
    return laws or {}
