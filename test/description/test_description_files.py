"""A text or a file without a robot causes a one-line error."""

import os

import pytest
from arms import beam, complaint, flexible_arm, joint, link, robot, without_the_words_of_libxml
from unprivileged import unprivileged

from flex_robot_sim import read_description

# the text, and the complete message after `<text>:`
TEXTS = {
    'another document': (
        '<html/>',
        '1: the document is a <html>, not a <robot>. Give a URDF or xacro file.',
    ),
    'no links': ('<robot name="r"/>', '1: the robot has no links. Give it at least one <link>.'),
    'truncated': (
        flexible_arm()[:-30],
        '5: this is not well-formed XML: (.*). Mend or complete the text there.',
    ),
    'entity bomb': (
        '<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n'
        '<robot name="&b;"/>',
        '2: a robot description has no <!DOCTYPE> and no entities. Remove it.',
    ),
    'external entity': (
        '<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot name="r"/>',
        '1: a robot description has no <!DOCTYPE> and no entities. Remove it.',
    ),
    'number in the language of xacro': (
        flexible_arm(beam('<section EIy="${2 * pi}" EIz="1"/>')),
        '5: EIy = "${2 * pi}" is not a number. Only xacro files are expanded: name the file '
        '.xacro, or write the value.',
    ),
    'vector in the language of xacro': (
        flexible_arm(beam(end='${2 * pi} 0 0')),
        '5: end = "${2 * pi} 0 0" is not three numbers. Only xacro files are expanded: name the '
        'file .xacro, or write the value.',
    ),
    'line break in a name': (
        robot(link(), joint(parent='b&#10;c')),
        '4: joint "hinge" has the parent "b c", which is no link. Correct the name, or add what '
        'is missing.',
    ),
    'xacro as text': (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:m/></robot>',
        '1: the text holds xacro, which needs its files. Give the path of the xacro file, or the '
        'expanded text.',
    ),
}


# these took minutes with a parser that searched for the end of each tag
for opening in ('<!--', '<?', '<![CDATA['):
    TEXTS[f'{opening} without an end'] = (
        '<robot name="r">' + 400_000 * opening,
        '1: this is not well-formed XML: (.*). Mend or complete the text there.',
    )


@pytest.mark.parametrize('what', TEXTS)
def test_an_unusable_text_is_a_one_line_error(what):
    text, message = TEXTS[what]
    assert without_the_words_of_libxml(complaint(text)) == f'<text>:{message}'


def test_the_line_number_is_that_of_the_tag_and_counts_comments():
    text = robot(
        '<!-- <link> \n\n -->',
        link(),
        joint(),
        '<flexibility>\n<link name="arm"',
        '  end="1 0 0"',
        '  y_axs="0 1 0"/></flexibility>',
    )
    assert complaint(text).startswith('<text>:9: unknown attribute "y_axs"')


FILES = {
    'not UTF-8': (
        b'<robot name="r">\n<link name="\xe9"/></robot>',
        ':2: the text is not UTF-8. Save the file with UTF-8 encoding.',
    ),
    'UTF-16': (
        '<robot name="r"/>'.encode('utf-16'),
        ':1: the text is not UTF-8. Save the file with UTF-8 encoding.',
    ),
    'empty': (b'', ':1: the document is empty. Give a URDF or xacro file.'),
    'huge': (
        b'<robot name="r"/>' + b' ' * 2**24,
        ':1: a description of more than 4 MB is not read. Put meshes into files of their own.',
    ),
    'binary': (
        bytes(range(1, 128)),
        ':1: this is not well-formed XML: (.*). Mend or complete the text there.',
    ),
    'deep': (
        b'<robot name="r">' + b'<a>' * 100_000,
        ':1: this is not well-formed XML: (.*). Mend or complete the text there.',
    ),
}


@pytest.mark.parametrize('what', FILES)
def test_an_unusable_file_is_a_one_line_error(what, tmp_path):
    content, message = FILES[what]
    path = tmp_path / 'robot.urdf'
    path.write_bytes(content)
    assert without_the_words_of_libxml(complaint(path)) == f'{path}{message}'


def test_a_missing_file_a_folder_and_a_pipe_are_one_line_errors(tmp_path):
    missing, pipe = tmp_path / 'no.urdf', tmp_path / 'pipe'
    os.mkfifo(pipe)
    assert complaint(missing) == (
        f'{missing}: the file cannot be read: No such file or '
        'directory. Give the path of a URDF or xacro file.'
    )
    for path in (tmp_path, pipe):
        assert complaint(path) == (
            f'{path}: this is not a regular file. Give the path of a URDF or xacro file.'
        )


def test_impossible_file_names_are_one_line_errors(tmp_path):
    (tmp_path / 'loop').symlink_to('loop')
    advice = 'Give the path of a URDF or xacro file.'
    assert complaint(b'<robot/>') == (
        'a bytes: this names no robot. Give a path, the name of a shipped robot, or the text of a '
        'URDF.'
    )
    assert complaint('') == f"'': no file name was given. {advice}"
    assert complaint('n' * 5000) == (
        f'{"n" * 200} ... {"n" * 200}: the file cannot be read: File name too long. {advice}'
    )
    assert complaint(tmp_path / 'loop') == (
        f'{tmp_path}/loop: the file cannot be read: Too many levels of symbolic links. {advice}'
    )


def test_a_file_in_an_unreadable_folder_is_a_one_line_error():
    with unprivileged() as folder:
        locked = folder / 'locked'
        locked.mkdir(mode=0)
        said = complaint(locked / 'arm.urdf')
    assert said == (
        f'{locked}/arm.urdf: the file cannot be read: Permission denied. Give the '
        'path of a URDF or xacro file.'
    )


def test_a_folder_does_not_hide_the_shipped_robot_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'two_link').mkdir()
    (tmp_path / 'two_lnk').mkdir()
    assert read_description('two_link').name == 'two_link'
    assert complaint('two_lnk') == (
        'two_lnk: this is not a regular file. Give the path of a URDF or xacro file.'
    )


def test_a_message_keeps_spaces_of_a_path_and_escapes_control_characters(tmp_path):
    path = tmp_path / 'a  b\x1b[31m.urdf'
    path.write_text(robot(link('a\u202eb'), link('a\u202eb')), 'utf-8')
    assert complaint(path) == (
        f'{tmp_path}/a  b\\x1b[31m.urdf:4: a second link "a\\u202eb", after the one in line 3. '
        'Rename one link.'
    )


def test_the_message_omits_developer_hints_of_libxml():
    assert 'XML_PARSE' not in complaint('<robot name="r">' + 5000 * '<a>')
