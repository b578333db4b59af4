"""
Lazy names of a package: each is imported on first use (PEP 562).

So importing a package imports no SciPy and no compiled code. Static tools read the same names
below `if TYPE_CHECKING:` in the `__init__.py` of the package.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def lazy_names(
    package: str, names_by_module: Mapping[str, Iterable[str]], packages: Iterable[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """
    Return `__getattr__` and `__dir__` of a package.

    :param names_by_module: {module below `flex_robot_sim`: names that the package exports}; a
        name differs from all modules of the package, which would replace it.
    :param packages: packages below `package` that are imported on first use.
    """
    root = package.partition('.')[0]
    module_of = {
        name: f'{root}.{module}' for module, names in names_by_module.items() for name in names
    }

    def get(name: str) -> object:
        if name in module_of or name in packages:
            if name in packages:
                return import_module(f'{package}.{name}')
            value = getattr(import_module(module_of[name]), name)
            setattr(sys.modules[package], name, value)  # later accesses find it there
            return value
        raise AttributeError(f'module {package!r} has no attribute {name!r}')

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of, *packages})

    return get, names
