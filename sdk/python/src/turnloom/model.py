"""What all models share: nothing that was said gets lost, and nothing new is an error. Not here: the models (`generated/`)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer


class Fields(BaseModel):
    """Named values. Those that are not known are kept, and can be read like the others."""

    # Words that Python keeps for itself, such as `as`, are `as_` here and as they are everywhere else.
    model_config = ConfigDict(extra="allow", protected_namespaces=(), validate_by_name=True, serialize_by_alias=True)

    @model_serializer(mode="wrap")
    def _as_said(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What was left out stays left out, and what was said to be nothing stays so."""
        fields = type(self).model_fields
        given = {fields[name].alias or name if name in fields else name for name in self.model_fields_set}
        written: dict[str, Any] = handler(self)
        return {name: value for name, value in written.items() if value is not None or name in given}


class Envelope(Fields):
    """One fact. `seq`, `session_id` and `turn_id` are there when it comes from a log."""

    seq: int | None = None
    ts: str
    session_id: str | None = None
    turn_id: str | None = None


class UnknownEvent(Envelope):
    """A fact of a type that this version does not know, or that is not as it should be. `data` has what was said."""

    if TYPE_CHECKING:
        # A checker that is told `str` could not tell the others apart by their type any more.
        type: Literal["(unknown)"]
        data: Any
    else:
        type: str
        data: Annotated[Fields | Any, Field(union_mode="left_to_right")]


def now() -> str:
    """The moment, as logs write it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def given(**fields: Any) -> dict[str, Any]:
    """Those that were said."""
    return {name: value for name, value in fields.items() if value is not None}
