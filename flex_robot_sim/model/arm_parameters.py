"""Parameters of an arm by path, and arms with other values of them."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TypeAlias

from flex_robot_sim.description.robot_parameters import (
    Parameter,
    chosen,
    parameter_at,
    parameters_of,
)
from flex_robot_sim.description.robot_parameters import (
    with_parameters as with_described_parameters,
)
from flex_robot_sim.model.arguments import expect_arm
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.payload import with_payload
from flex_robot_sim.util.exceptions import SettingError, UsageError, shortened
from flex_robot_sim.util.summary import SummaryRows, counted, summarized

INF = float('inf')
Change: TypeAlias = 'float | tuple[str, float]'


@summarized
class Parameters(dict[str, Parameter]):
    """
    Parameters of an arm by path; `print` shows all of them, an interpreter the first ones.

    Each has `value`, `unit`, the bounds `lower` and `upper`, and `meaning`.

    Example::

        found = frs.parameters(frs.load('two_link'))
        units = {path: parameter.unit for path, parameter in found.items()}
        assert units['shoulder.stiffness'] == 'N m/rad'
    """

    def __str__(self) -> str:
        heading, rows = self._summary()
        width = max(map(len, self), default=0)
        return '\n'.join([heading, *(f'  {path:{width}}  {text}' for path, text in rows)])

    def _summary(self) -> tuple[str, SummaryRows]:
        return counted(len(self), 'parameter'), [
            (path, f'{one.value:.6g} {one.unit}'.rstrip() + f' ({one.range_text}): {one.meaning}')
            for path, one in self.items()
        ]


def parameters(arm: ArmModel, *, select: str = '*') -> Parameters:
    """
    Return the parameters of an arm by path: each has `value`, `unit`, `lower`, `upper`, `meaning`.

    A path names a link or a joint, and a quantity of it. `print` shows all.

    :param arm: ArmModel.
    :param select: path, or pattern of paths such as ``'forearm.*'`` or ``'*.mass'``.

    Example::

        arm = frs.load('two_link')
        found = frs.parameters(arm, select='forearm.*')
        assert found['forearm.EIz'].value > 0.0 and found['forearm.EIz'].unit == 'N m2'
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    return Parameters({one.path: one for one in _selected(arm, select)})


def with_parameters(arm: ArmModel, changes: Mapping[str, Change]) -> ArmModel:
    """
    Return another arm with other values of some parameters; gravity and payloads are the same.

    :param arm: ArmModel; it does not change.
    :param changes: by path: a value [SI], ``('*', factor)`` or ``('+', difference)``. A path may
        be a pattern, such as ``'*.mass'``. Factors and differences refer to the values of `arm`.

    Example::

        arm = frs.load('two_link')
        stiffer = frs.with_parameters(arm, {'forearm.EIz': ('*', 1.1), 'shoulder.stiffness': 2e3})
        assert frs.frequencies(stiffer)[0] > frs.frequencies(arm)[0]
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    if not isinstance(changes, Mapping):
        raise SettingError(
            f'changes = {shortened(repr(changes), 60)} must be a dict from paths '
            "to values, such as {'forearm.EIz': ('*', 1.1)}"
        )
    values: dict[str, float] = {}
    for words, change in changes.items():
        for parameter in _selected(arm, words):
            if parameter.path in values:
                raise SettingError(f'{parameter.path} changes twice: give one change for it')
            values[parameter.path] = _changed(parameter, change, parameter.path != words)
    try:
        description = with_described_parameters(arm.description, values)
    except UsageError as error:
        raise SettingError(str(error)) from None
    if description is arm.description:
        return arm
    changed = build_arm(description, arm.coupling, -arm.arrays.base_acceleration[3:])
    for payload in arm.payloads:
        changed = with_payload(
            changed, payload.link, payload.mass, centre=payload.centre, inertia=payload.inertia
        )
    return changed


def _selected(arm, words):
    """Return the Parameters of a path, or of all paths of a pattern."""
    if not isinstance(words, str):
        raise SettingError(
            f'{shortened(repr(words), 60)} is no path of a parameter: give a text '
            "such as 'forearm.EIz'"
        )
    try:
        if '*' not in words:
            return [parameter_at(arm.description, words)]
        known = parameters_of(arm.description)
        return [known[path] for path in chosen(known, [words])]
    except UsageError as error:
        raise SettingError(str(error)) from None


def _changed(parameter, change, is_pattern):
    """Return the new value of a Parameter; a factor for a pattern leaves zeros as they are."""
    operation, number = (
        ('=', change)
        if isinstance(change, Real)
        else (change if isinstance(change, tuple) and len(change) == 2 else ('', change))
    )
    if (
        operation not in ('=', '*', '+')
        or not isinstance(number, Real)
        or isinstance(number, bool)
    ):
        raise SettingError(
            f'{parameter.path}: {shortened(repr(change), 60)} must be a number, '
            "('*', factor) or ('+', difference)"
        )
    if operation == '=':
        return float(number)
    if operation == '*' and not is_pattern and parameter.value in (0.0, INF, -INF):
        raise SettingError(
            f'{parameter.path} is {parameter.value:g}, and no multiple of it is '
            'anything else: give its value'
        )
    return (
        parameter.value * float(number) if operation == '*' else (parameter.value + float(number))
    )
