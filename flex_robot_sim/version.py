"""The version of the package, as `package.xml` states it."""

from flex_robot_sim.util.share import share_folder

_MANIFEST = (share_folder() / 'package.xml').read_text('utf-8')
__version__ = _MANIFEST.partition('<version>')[2].partition('<')[0]
