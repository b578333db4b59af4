"""Detection of parts of `<flexibility>` in places where they would be ignored."""

from flex_robot_sim.description.document import Document
from flex_robot_sim.description.values import closest
from flex_robot_sim.description.words import FLEXIBILITY

# URDF itself uses `damping` for the friction of a joint, and `material` for a colour
_ELEMENTS = {tag: set(FLEXIBILITY[tag].children) - {'material'} for tag in ('link', 'joint')}
_ATTRIBUTES = {
    tag: set(FLEXIBILITY[tag].attributes) - {'name', 'damping', 'type', 'lower', 'upper'}
    for tag in ('link', 'joint')
}


def refuse_misplaced(document: Document) -> None:
    """Raise if a <flexibility>, or a part of one, is in a place where it would be ignored."""
    root = document.root
    for element in root.iterchildren('*'):
        if element.tag != 'flexibility' and _resembles_flexibility(_local(element)):
            raise _misspelt_flexibility(document, element)
        if element.tag in _ATTRIBUTES:
            _refuse_flexibility_words(document, element)
    resembling = {}  # cached by name: a document may have a hundred thousand elements
    for element in root.iter('*'):
        parent, name = element.getparent(), _local(element)
        if name not in resembling:
            resembling[name] = closest(name, ['flexibility'], 0.8) is not None
        if resembling[name] and parent is not None and parent is not root:
            raise document.error(
                element, f'<{name}> stands in <{_local(parent)}>', 'Move it directly under <robot>'
            )


def _resembles_flexibility(name):
    name = name.lower()
    return name.startswith('flex') or 'flexib' in name


def _misspelt_flexibility(document, element):
    name = _local(element)
    if name != 'flexibility':
        return document.error(element, f'unknown element <{name}>', 'Did you mean "flexibility"?')
    return document.error(
        element,
        '<flexibility> stands in a namespace of its own',
        'Write it without a prefix and without xmlns',
    )


def _refuse_flexibility_words(document, element):
    tag, name = element.tag, element.get('name')
    words = [f'attribute "{word}"' for word in element.attrib if word in _ATTRIBUTES[tag]]
    words += [
        f'element <{child.tag}>'
        for child in element.iterchildren('*')
        if child.tag in _ELEMENTS[tag]
    ]
    if words:
        raise document.error(
            element,
            f'the {words[0]} of {tag} "{name}" stands outside <flexibility>',
            'Move it into <flexibility>',
        )


def _local(element):
    """Return the name of `element` without namespace and prefix."""
    return element.tag.rpartition('}')[2].rpartition(':')[2]
