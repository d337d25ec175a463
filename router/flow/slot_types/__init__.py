"""The types of slots, a class each: a module that stands here is found, and what it registers."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
