"""Every event of a session, as models. The shapes are generated; here is how one is read."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ValidationError

from .generated import events as generated
from .generated.events import *  # noqa: F403
from .generated.events import KINDS, Event
from .model import Envelope, UnknownEvent

__all__ = ["Envelope", "parse"]
__all__ += generated.__all__


def parse(value: dict[str, Any]) -> Event:
    """The event that an object is. One of a type that is not known, or that is not as it should be, is an `UnknownEvent`: nothing is lost."""
    model = KINDS.get(value.get("type", ""))
    if model is not None:
        try:
            return cast(Event, model.model_validate(value))
        except ValidationError:
            pass
    return UnknownEvent.model_validate({"ts": "", "type": "", "data": {}, **value})
