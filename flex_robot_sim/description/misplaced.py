"""Find what belongs to `<flexibility>` and stands where it would be passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flex_robot_sim.description.values import closest
from flex_robot_sim.description.words import FLEXIBILITY

if TYPE_CHECKING:
    from flex_robot_sim.description.document import Document

# `damping` is URDF's own word for the friction of a joint, and `material` that for a colour
_ELEMENTS_OF_LINK = set(FLEXIBILITY['link'].children) - {'material'}
_ATTRIBUTES = {tag: set(FLEXIBILITY[tag].attributes) - {'name', 'damping'}
               for tag in ('link', 'joint')}


def refuse_misplaced(document: Document) -> None:
    """Raise if a <flexibility>, or a part of one, stands where no reader would look for it."""
    root = document.root
    for element in root.iterchildren('*'):
        if element.tag != 'flexibility' and _means_flexibility(_local(element)):
            raise _no_flexibility(document, element)
        if element.tag in _ATTRIBUTES:
            _refuse_own_words(document, element)
    resembling = {}     # by name, since a document may have a hundred thousand elements
    for element in root.iter('*'):
        parent, name = element.getparent(), _local(element)
        if name not in resembling:
            resembling[name] = closest(name, ['flexibility'], 0.8) is not None
        if resembling[name] and parent is not None and parent is not root:
            raise document.error(element, f'<{name}> stands in <{_local(parent)}>',
                                 'Move it directly under <robot>')


def _means_flexibility(name):
    name = name.lower()
    return name.startswith('flex') or 'flexib' in name


def _no_flexibility(document, element):
    name = _local(element)
    if name != 'flexibility':
        return document.error(element, f'unknown element <{name}>', 'Did you mean "flexibility"')
    return document.error(element, '<flexibility> stands in a namespace of its own',
                          'Write it without a prefix and without xmlns')


def _refuse_own_words(document, element):
    tag, name = element.tag, element.get('name')
    words = [f'attribute "{word}"' for word in element.attrib if word in _ATTRIBUTES[tag]]
    if tag == 'link':
        words += [f'element <{child.tag}>' for child in element.iterchildren('*')
                  if child.tag in _ELEMENTS_OF_LINK]
    if words:
        raise document.error(element, f'the {words[0]} of {tag} "{name}" stands outside '
                             '<flexibility>', 'Move it into <flexibility>')


def _local(element):
    """Return the name of `element` without namespace and prefix."""
    return element.tag.rpartition('}')[2].rpartition(':')[2]
