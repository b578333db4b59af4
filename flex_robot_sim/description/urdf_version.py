"""Version of a URDF: what its `version` allows, and which ROS releases read it."""

import re

from flex_robot_sim.description.document import Document, XmlElement

FIRST, WITH_QUATERNIONS, WITH_OPTIONAL_LIMITS = (1, 0), (1, 1), (1, 2)
KNOWN = FIRST, WITH_QUATERNIONS, WITH_OPTIONAL_LIMITS
OLD_RELEASES = 'ROS 2 Kilted and older'

_VERSION = re.compile(r'(\d{1,4})\.(\d{1,4})', re.ASCII)


def version_of(root: XmlElement) -> tuple[int, int]:
    """Version of a <robot>, (major, minor); 1.0 if it has none or one without two numbers."""
    match = _VERSION.fullmatch((root.get('version') or '').strip())
    return (int(match[1]), int(match[2])) if match else FIRST


def warn_about_version(document: Document) -> None:
    """Warn of a version that ROS releases refuse."""
    root = document.root
    text, version = (root.get('version') or '').strip(), version_of(root)
    if text and (version not in KNOWN or not _VERSION.fullmatch(text)):
        document.warn(
            document.line(root),
            f'version = "{text[:40]}" of <robot> is not 1.0, 1.1 or 1.2, and ROS refuses the file',
            'Write version="1.0"',
        )
    elif version > FIRST:
        replaced = [
            words
            for words, has in (
                ('rpy in place of quat_xyzw', _has_quaternion(root)),
                ('other shapes in place of <capsule>', _capsules(root)),
            )
            if has
        ]
        document.warn(
            document.line(root),
            f'{OLD_RELEASES} refuse a file of version {text}',
            'Write version="1.0" for them'
            + (f', and {" and ".join(replaced)}' if replaced else '')
            + ': all limits are read here in every version, and unknown ones are ignored there',
        )
    elif _capsules(root):
        document.warn(
            document.line(_capsules(root)[0]),
            f'<capsule> needs version 1.1 of URDF, which {OLD_RELEASES} refuse',
            'Write version="1.1" in <robot>, or a cylinder and two spheres',
        )


def _has_quaternion(root):
    return any('quat_xyzw' in origin.attrib for origin in root.iter('origin'))


def _capsules(root):
    return [
        shape
        for link in root.findall('link')
        for tag in ('visual', 'collision')
        for shape in link.iterfind(f'{tag}/geometry/capsule')
    ]
