"""Two carts, or two wheels, that a constraint with `<compliance>` couples."""

from arms import joint, link, robot

RANGE = '<limit lower="-9" upper="9" effort="9" velocity="9"/>'


def compliant(text, compliance):
    """Return a robot whose constraints have a <compliance> with these attributes."""
    return text.replace('</constraint>', f'<compliance {compliance}/></constraint>')


def carts(compliance, kind='prismatic', axis='1 0 0', constraint='fixed'):
    """Return two carts of 2 and 5 kg, or two wheels on one axis, that a constraint couples."""
    parts = []
    for name, mass in (('left', 2.0), ('right', 5.0)):
        parts.append(link(name, mass, '0 0 0', (mass, mass, mass)))
        parts.append(joint(f'{name}_joint', kind, 'base', name, f'<axis xyz="{axis}"/>{RANGE}'))
    ends = '<parent link="left"/><child link="right"/>'
    loop = f'<constraint name="spring" type="{constraint}">{ends}</constraint>'
    return compliant(robot(*parts, loop), compliance)
