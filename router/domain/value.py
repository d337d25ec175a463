"""The base of all values: data that is validated when it is made, and copied only by `replace`."""

from functools import cache
from typing import Annotated, Any, Self

from pydantic import BaseModel, TypeAdapter


class Value(BaseModel, frozen=True):
    """Data that is passed between functions, processes and workflows."""

    def replace(self, **changes: Any) -> Self:
        """Return a copy in which these fields have other values.

        mypy checks the names and types of the fields at each call (`tests/value_plugin.py`), and
        they are validated when it is made.

        Raises:
            TypeError: There is no field of that name.
            ValidationError: A value isn't of its field's type, or the fields don't fit together.

        Example:
            >>> class Point(Value):
            ...     x: int
            ...     y: int = 0
            >>> Point(x=1).replace(y=2)
            Point(x=1, y=2)
        """
        kind = type(self)
        copy = self.model_copy(
            update={name: _field(kind, name).validate_python(new) for name, new in changes.items()}
        )
        # pydantic copies cached properties too, which were derived from the old fields.
        for derived in copy.__dict__.keys() - kind.model_fields.keys():
            del copy.__dict__[derived]
        if kind.__pydantic_decorators__.model_validators:
            kind.model_validate(dict(copy))
        return copy


@cache
def _field(kind: type[Value], name: str) -> TypeAdapter[Any]:
    """Build the validator of one field."""
    # A class that is named before it is defined is only known to the rebuilt model.
    kind.model_rebuild()
    field = kind.model_fields.get(name)
    if field is None:
        raise TypeError(
            f"{kind.__name__} has no field {name!r}; it has: {', '.join(kind.model_fields)}"
        )
    # pydantic warns of a field's alias here, so the field itself is left out. `Annotated` takes at
    # least one thing, and pydantic overlooks `None`.
    declared: Any = Annotated[field.annotation, *field.metadata, None]
    return TypeAdapter(declared)
