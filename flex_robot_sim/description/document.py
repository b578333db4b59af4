"""
Parsing of bytes to XML elements with line numbers, independent of robots.

The text is untrusted: entities, external files and deep trees are refused.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

from lxml import etree

from flex_robot_sim.util.exceptions import DescriptionError, one_line
from flex_robot_sim.util.files import read_bytes

XmlElement: TypeAlias = etree._Element

MAX_FILE_BYTES = 4 * 2**20  # the largest robots in use are below 1 MB

# an unclosed part extends to the end; otherwise each of many would search the whole text
_SKIPPED = r'<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)'
_START_TAGS = re.compile(_SKIPPED + r'|<(?=[^/!?])', re.DOTALL)
_DOCTYPE = re.compile(_SKIPPED + r'|<!DOCTYPE', re.DOTALL)
_LIBXML_ADVICE = re.compile(r'[,:]?\s*(use|try) XML_PARSE_HUGE( option)?')


class RecordedFiles(NamedTuple):
    """Reduced files of a recorded robot; links whose file is missing or differs become rigid."""

    hashes: Mapping[str, str]  # SHA-256 of the file by link, as far as the recording has it
    notes: list[str]  # one line for each link that became rigid


class Document:
    """An XML document with the start line of each element, and its warnings."""

    def __init__(
        self,
        source: str,
        content: bytes,
        folder: Path | None = None,
        recorded: RecordedFiles | None = None,
    ) -> None:
        """
        Read `content` (bytes) of `source`; DescriptionError if it is no XML.

        :param folder: of files that it names; None: it may name files of ROS packages only.
        :param recorded: reduced files of a recording; None: each must be there.
        """
        self.source, self.folder, self.recorded = source, folder, recorded
        self.warnings: list[str] = []
        self.text = text = self._decode(content)
        self._refuse_doctype(text)
        parser = etree.XMLParser(
            encoding='utf-8',
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            recover=True,
        )
        if not text.strip():
            raise DescriptionError(source, 1, 'the document is empty', 'Give a URDF or xacro file')
        with suppress(etree.XMLSyntaxError):  # its first error is in the log, with a line
            self.root = etree.fromstring(text.encode(), parser)
        for entry in parser.error_log:
            # robots older than ROS 2 have tags like <sensor:camera> with undeclared prefixes
            if entry.domain != etree.ErrorDomains.NAMESPACE:
                message = _LIBXML_ADVICE.sub('', entry.message).strip()
                raise DescriptionError(
                    source,
                    entry.line or 1,
                    f'this is not well-formed XML: {message}',
                    'Mend or complete the text there',
                )
        self._lines = _start_lines(text, self.root)

    def changed_text(self) -> str:
        """Return the present elements as text, without an XML declaration."""
        return etree.tostring(self.root.getroottree(), encoding='unicode') + '\n'

    def line(self, element: XmlElement) -> int:
        """Line on which `element` starts."""
        return self._lines[element]

    def error(self, element: XmlElement, problem: str, remedy: str) -> DescriptionError:
        """Return a DescriptionError about `element`."""
        return self.error_at(self.line(element), problem, remedy)

    def error_at(self, line: int | None, problem: str, remedy: str) -> DescriptionError:
        """Return a DescriptionError about `line`."""
        return DescriptionError(self.source, line, problem, remedy)

    def warn(self, line: int, problem: str, remedy: str) -> None:
        """Note a one-line warning about `line`."""
        self.warnings.append(one_line(self.source, line, problem, remedy))

    def _decode(self, content):
        if len(content) > MAX_FILE_BYTES:
            raise DescriptionError(
                self.source,
                1,
                f'a description of more than {MAX_FILE_BYTES // 2**20} MB is not read',
                'Put meshes into files of their own',
            )
        try:
            return content.decode('utf-8-sig')
        except UnicodeDecodeError as error:
            line = content.count(b'\n', 0, error.start) + 1
            raise DescriptionError(
                self.source, line, 'the text is not UTF-8', 'Save the file with UTF-8 encoding'
            ) from error

    def _refuse_doctype(self, text):
        for match in _DOCTYPE.finditer(text):
            if match[0].endswith(('-->', ']]>', '?>')):
                continue
            line = text.count('\n', 0, match.start()) + 1
            if match[0] == '<!DOCTYPE':
                raise DescriptionError(
                    self.source,
                    line,
                    'a robot description has no <!DOCTYPE> and no entities',
                    'Remove it',
                )
            # older versions of libxml2 would search for the end for minutes
            raise DescriptionError(
                self.source,
                line,
                f'this is not well-formed XML: no end of {match[0][:9]}',
                'Mend or complete the text there',
            )


def read_file(path: str | Path) -> bytes:
    """Content of the regular file `path` [bytes]; DescriptionError if it cannot be read."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise DescriptionError(
                path, None, 'this is not a regular file', 'Give the path of a URDF or xacro file'
            )
        return read_bytes(path, MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise DescriptionError(
            path,
            None,
            f'the file cannot be read: {reason}',
            'Give the path of a URDF or xacro file',
        ) from error


def _start_lines(text, root):
    """Line of the `<` of every element; lxml itself has the line of the `>`."""
    lines, line, counted_to = [], 1, 0
    for match in _START_TAGS.finditer(text):
        if match[0] == '<':
            line += text.count('\n', counted_to, match.start())
            counted_to = match.start()
            lines.append(line)
    return dict(zip(root.iter('*'), lines))
