"""The version of the package, as in `package.xml` and `setup.py`."""

__version__ = '0.1.0'
