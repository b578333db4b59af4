"""Order of links and joints from base to tip; other graphs than trees are refused."""

from collections.abc import Mapping

from flex_robot_sim.description.document import Document
from flex_robot_sim.description.links import Joint, Link
from flex_robot_sim.description.values import unknown_name


def order(
    document: Document, links: Mapping[str, Link], joints: Mapping[str, Joint]
) -> tuple[list[Link], list[Joint]]:
    """Return links, each after its parent, and joints; joints[i] is that of links[i + 1]."""
    parents = _parent_of_each_link(document, links, joints)
    roots = [name for name in links if name not in parents]
    if not roots:
        raise _loop_error(document, parents, next(iter(links)), ', and the robot has no base')
    children: dict[str, list[Joint]] = {name: [] for name in links}
    for joint in joints.values():
        children[joint.parent].append(joint)
    ordered_links, ordered_joints = _walk(links, children, roots[0])
    _refuse_loops(document, links, parents, children, roots)
    if len(roots) > 1:
        raise document.error_at(
            links[roots[1]].line,
            f'the robot has several bases: {_list_names(roots)}',
            'Connect them with joints, or remove the links that are not used',
        )
    return ordered_links, ordered_joints


def _parent_of_each_link(document, links, joints):
    parents: dict[str, Joint] = {}
    for joint in joints.values():
        for role, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in links:
                raise unknown_name(
                    document,
                    joint.line,
                    f'joint "{joint.name}" has the {role} "{link}", which is no link',
                    link,
                    links,
                )
        if joint.parent == joint.child:
            raise document.error_at(
                joint.line,
                f'joint "{joint.name}" connects link "{joint.child}" to itself',
                'Correct its <parent> or its <child>',
            )
        if joint.child in parents:
            raise document.error_at(
                joint.line,
                f'link "{joint.child}" has two parents: it is the child of the joints '
                f'"{parents[joint.child].name}" and "{joint.name}"',
                'Remove one of them',
            )
        parents[joint.child] = joint
    return parents


def _walk(links, children, root):
    """Links and joints below `root`, depth first, in the order of the document."""
    ordered_links, ordered_joints = [links[root]], []
    stack = children[root][::-1]
    while stack:
        joint = stack.pop()
        ordered_joints.append(joint)
        ordered_links.append(links[joint.child])
        stack.extend(children[joint.child][::-1])
    return ordered_links, ordered_joints


def _refuse_loops(document, links, parents, children, roots):
    reached = {link.name for root in roots for link in _walk(links, children, root)[0]}
    for name in links:
        if name not in reached:
            raise _loop_error(document, parents, name)


def _loop_error(document, parents, name, consequence=''):
    """Return the DescriptionError about the loop of links above link `name`."""
    visited = set()
    while name not in visited:
        visited.add(name)
        name = parents[name].parent
    joint = parents[name]
    return document.error_at(
        joint.line,
        f'joint "{joint.name}" is part of a loop of links{consequence}',
        'Remove one joint of the loop',
    )


def _list_names(names):
    more = f' and {len(names) - 5} more' if len(names) > 5 else ''
    return ', '.join(f'"{name}"' for name in names[:5]) + more
