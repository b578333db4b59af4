"""Generator of files from the schema: the C header and the tables of the protocol page."""

from pathlib import Path

from flex_robot_sim.rig.wire.c_header import c_header
from flex_robot_sim.rig.wire.protocol_page import fill_tables

ROOT = Path(__file__).resolve().parents[3]
HEADER = ROOT / 'firmware' / 'protocol_layout.h'
PAGE = ROOT / 'docs' / 'rig_protocol.md'


def main() -> None:
    """Write both files of the source tree."""
    HEADER.parent.mkdir(exist_ok=True)
    HEADER.write_text(c_header(), encoding='utf-8')
    PAGE.write_text(fill_tables(PAGE.read_text(encoding='utf-8')), encoding='utf-8')


if __name__ == '__main__':
    main()
