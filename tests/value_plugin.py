"""A plugin of mypy that knows the fields which `Value.replace` takes, and their types."""

from collections.abc import Callable

from mypy.expandtype import expand_type_by_instance
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import ARG_NAMED_OPT, TypeInfo
from mypy.plugin import MethodSigContext, Plugin
from mypy.types import FunctionLike, Instance, Type, TypeVarType, get_proper_type

VALUE = "router.domain.value.Value"


class ValuePlugin(Plugin):
    """Writes the signature of `replace` for each class of values."""

    def get_method_signature_hook(
        self, fullname: str
    ) -> Callable[[MethodSigContext], FunctionLike] | None:
        """Return what writes the signature of a method; called by mypy for each call."""
        return _replace if fullname.endswith(".replace") else None


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin; called by mypy."""
    return ValuePlugin


def _replace(context: MethodSigContext) -> FunctionLike:
    """Return a signature with the fields of the class as keywords, none of them required."""
    value = get_proper_type(context.type)
    if isinstance(value, TypeVarType):
        value = get_proper_type(value.upper_bound)
    if not isinstance(value, Instance) or not value.type.has_base(VALUE):
        return context.default_signature
    fields = {name: _type_of(name, value) for name in _fields(value.type)}
    return context.default_signature.copy_modified(
        arg_names=[*fields],
        arg_types=[*fields.values()],
        arg_kinds=[ARG_NAMED_OPT] * len(fields),
    )


def _fields(info: TypeInfo) -> list[str]:
    """Return the names of the fields that pydantic's plugin has found in a class."""
    return [*info.metadata.get("pydantic-mypy-metadata", {}).get("fields", {})]


def _type_of(name: str, value: Instance) -> Type:
    """Return the type of a field, with the type arguments of the value."""
    symbol = value.type.get(name)
    declared = symbol.type if symbol is not None else None
    owner = next(info for info in value.type.mro if name in info.names)
    assert declared is not None, f"{value.type.fullname}.{name} has no type"
    return expand_type_by_instance(declared, map_instance_to_supertype(value, owner))
