"""Makes the models of events and of answers from docs/reference. With `--check` it writes nothing and fails when they are not current.

It needs nothing but Python. Not here: what the models can do (`turnloom/model.py`).
"""

import json
import keyword
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "docs" / "reference"
GENERATED = HERE.parent / "src" / "turnloom" / "generated"
WIDTH = 120

Schema = dict[str, Any]

# What the client's calls give, and what it is called here where the API's name says less.
ANSWERS = {
    "Health": "Health",
    "AgentInfo": "AgentInfo",
    "Conversation": "Conversation",
    "SessionView": "SessionInfo",
    "SessionList": "SessionList",
    "Receipt": "Receipt",
    "QueueItem": "QueueItem",
    "QueuedMessage": "QueuedMessage",
    "SessionAsk": "Ask",
    "Resolved": "Resolved",
    "SharedState": "SharedState",
    "Noted": "Noted",
    "Task": "Task",
    "RunStatus": "RunStatus",
    "Cancelled": "Cancelled",
    "ChangedFile": "FileChanges",
    "SignIn": "SignIn",
    "Channel": "Channel",
    "ChannelDelivery": "ChannelDelivery",
    "Schedule": "Schedule",
    "ScheduleRuns": "ScheduleRuns",
    "Run": "Run",
    "Webhook": "Webhook",
    "MadeWebhook": "MadeWebhook",
    "WebhookDeliveries": "WebhookDeliveries",
    "WebhookTested": "WebhookTested",
}

HEADER = '''"""{title} Made by `cargo xtask gen` from docs/reference. Do not edit."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, Union

from pydantic import Field

from ..model import {imports}
'''


class Writer:
    """Turns schemas into Python. `defs` are the schemas by name, `names` what some of them are called."""

    def __init__(self, defs: dict[str, Schema], names: dict[str, str], elsewhere: frozenset[str] = frozenset()) -> None:
        self.defs = defs
        self.names = names
        self.elsewhere = elsewhere
        self.borrowed: set[str] = set()
        self.written: dict[str, str] = {}
        self.parts: list[str] = []

    def name(self, definition: str) -> str:
        return self.names.get(definition, definition)

    def type_of(self, schema: Any) -> str:
        if schema is True or not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self.reference(schema["$ref"].rsplit("/", 1)[-1])
        if "const" in schema:
            return f"Literal[{literal(schema['const'])}]"
        for joined in ("anyOf", "oneOf"):
            if joined in schema:
                kinds = [part for part in schema[joined] if part.get("type") != "null"]
                types = list(dict.fromkeys(self.type_of(part) for part in kinds))
                return types[0] if len(types) == 1 else f"Union[{', '.join(types)}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            rest = [one for one in kind if one != "null"]
            return self.type_of({**schema, "type": rest[0]}) if len(rest) == 1 else "Any"
        if "enum" in schema:
            return f"Union[Literal[{', '.join(map(literal, schema['enum']))}], str]"
        if kind == "array":
            return f"list[{self.type_of(schema.get('items', True))}]"
        if kind == "object":
            return "dict[str, Any]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind or "", "Any")

    def reference(self, definition: str) -> str:
        """Ids and positions are plain texts and numbers; words and objects have names."""
        if definition in self.elsewhere:
            self.borrowed.add(self.name(definition))
            return self.name(definition)
        schema = self.defs[definition]
        if words(schema):
            self.define(definition, schema)
            return self.name(definition)
        if "oneOf" in schema or schema.get("properties") is not None:
            self.define(definition, schema)
            return self.name(definition)
        return self.type_of(schema)

    def define(self, definition: str, schema: Schema) -> None:
        name = self.name(definition)
        if name in self.written:
            return
        self.written[name] = ""  # it may name itself
        found = words(schema)
        if found:
            text = f"{name}: TypeAlias = Union[Literal[{', '.join(map(literal, found))}], str]\n"
            if len(text) > WIDTH:
                listed = "".join(f"        {literal(word)},\n" for word in found)
                text = f"{name}: TypeAlias = Union[\n    Literal[\n{listed}    ],\n    str,\n]\n"
            self.written[name] = text + said(schema, "")
        elif "oneOf" in schema:
            self.written[name] = self.union(name, schema)
        else:
            self.written[name] = self.model(name, schema)
        self.written[name] = self.written.pop(name)  # after what it needs

    def union(self, name: str, schema: Schema) -> str:
        """Objects that are told apart by a word; others than these are kept as they are."""
        texts, kinds = [], []
        for part in schema["oneOf"]:
            if "$ref" in part:
                kinds.append(self.reference(part["$ref"].rsplit("/", 1)[-1]))
                continue
            word = next(value["const"] for value in part["properties"].values() if "const" in value)
            kinds.append(camel(word) + name)
            texts.append(self.model(kinds[-1], part))
            self.parts.append(kinds[-1])
        kinds.append("Fields")
        listed = ", ".join(kinds)
        texts.append(
            f'{name}: TypeAlias = Annotated[Union[{listed}], Field(union_mode="left_to_right")]\n' + said(schema, "")
        )
        return "\n\n".join(texts)

    def model(self, name: str, schema: Schema) -> str:
        lines = [f"class {name}(Fields):\n", said(schema, "    ", blank=True)]
        fields = ordered(schema)
        for field, value, required in fields:
            kind = self.type_of(value)
            lines.append(f"    {named(field)}: {kind if required else optional(kind)}{default(field, required)}\n")
            lines.append(said(value, "    "))
        if not fields:
            lines.append("    pass\n")
        return "".join(lines)

    def envelope(self, word: str, payload: str) -> str:
        name = camel(word)
        data = f"{name}Data"
        required: list[tuple[str, str]] = []
        more: list[tuple[str, str]] = []
        for field, value, needed in ordered(self.defs[payload]):
            kind = self.type_of(value)
            (required if needed else more).append((named(field), kind if needed else f"{optional(kind)} = None"))
        parameters = ["cls", *(f"{field}: {kind}" for field, kind in required)]
        parameters += ["*"] * bool(more) + [f"{field}: {kind}" for field, kind in more]
        given = ", ".join(f"{field}={field}" for field, _ in required + more)
        head = f"    def create({', '.join(parameters)}) -> {name}:\n"
        if len(head) > WIDTH + 1:
            head = "    def create(\n" + "".join(f"        {one},\n" for one in parameters) + f"    ) -> {name}:\n"
        body = f"        return cls(ts=now(), data={data}(**given({given})))\n"
        if len(body) > WIDTH + 1:
            listed = "".join(f"                    {field}={field},\n" for field, _ in required + more)
            body = (
                f"        return cls(\n            ts=now(),\n            data={data}(\n                **given(\n"
                f"{listed}                )\n            ),\n        )\n"
            )
        return (
            f'class {name}(Envelope):\n    type: Literal["{word}"] = "{word}"\n    data: {data}\n\n'
            f"    @classmethod\n{head}{body}"
        )


def words(schema: Schema) -> list[str]:
    """The words that an enumeration has; none when it is something else."""
    if "enum" in schema:
        return list(schema["enum"])
    parts = schema.get("oneOf", [])
    if parts and all(part.get("type") == "string" for part in parts):
        return [word for part in parts for word in part.get("enum", [part.get("const")])]
    return []


def ordered(schema: Schema) -> list[tuple[str, Any, bool]]:
    """The fields, those that are always there first: as Python wants them."""
    needed = schema.get("required", [])
    fields = [(name, value, name in needed) for name, value in schema.get("properties", {}).items()]
    return sorted(fields, key=lambda field: not field[2])


def named(field: str) -> str:
    """What a field is called in Python, which keeps some words for itself."""
    return f"{field}_" if keyword.iskeyword(field) else field


def default(field: str, required: bool) -> str:
    if keyword.iskeyword(field):
        return f" = Field({'' if required else 'default=None, '}alias={literal(field)})"
    return "" if required else " = None"


def optional(kind: str) -> str:
    return kind if kind == "Any" else f"Union[{kind}, None]"


def literal(value: Any) -> str:
    return json.dumps(value)


def camel(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_"))


def said(schema: Any, indent: str, *, blank: bool = False) -> str:
    """What the reference says of it, as a docstring."""
    text = schema.get("description") if isinstance(schema, dict) else None
    if not text:
        return ""
    text = " ".join(text.split())
    line = f'{indent}"""{text}"""\n'
    if len(line) > WIDTH + 1:
        lines, row = [], indent + '"""'
        for word in text.split():
            if len(row) + len(word) + 1 > WIDTH:
                lines.append(row.rstrip())
                row = indent
            row += word + " "
        line = "\n".join([*lines, row.rstrip(), indent + '"""']) + "\n"
    return line + ("\n" if blank else "")


def events(schema: Schema) -> tuple[str, frozenset[str]]:
    kinds = {one["properties"]["type"]["const"]: one["properties"]["data"]["$ref"] for one in schema["oneOf"]}
    payloads = {word: reference.rsplit("/", 1)[-1] for word, reference in kinds.items()}
    names = {payload: f"{camel(word)}Data" for word, payload in payloads.items()}
    writer = Writer(schema["$defs"], names)
    for payload in payloads.values():
        writer.define(payload, schema["$defs"][payload])
    shared = frozenset(known for known in schema["$defs"] if writer.name(known) in writer.written)
    envelopes = {camel(word): writer.envelope(word, payload) for word, payload in payloads.items()}
    clashes = sorted(set(envelopes) & set(writer.written))
    if clashes:
        raise SystemExit(f"an event and something in events have the same name: {', '.join(clashes)}")
    table = "".join(f'    "{word}": {camel(word)},\n' for word in payloads)
    rest = (
        f'KINDS: dict[str, type[Envelope]] = {{\n{table}}}\n"""The model of each type."""\n\n'
        f"Event: TypeAlias = Union[\n{''.join(f'    {name},{chr(10)}' for name in envelopes)}    UnknownEvent,\n]\n"
        '"""One fact of a session\'s log: `type` says what `data` is. What is not known is an `UnknownEvent`."""\n\n'
        f"EventType: TypeAlias = Union[\n    Literal[\n"
        f"{''.join(f'        {literal(word)},{chr(10)}' for word in payloads)}    ],\n    str,\n]\n"
    )
    header = HEADER.format(title="Every event of a session.", imports="Envelope, Fields, UnknownEvent, given, now")
    exported = sorted([*writer.written, *writer.parts, *envelopes, "KINDS", "Event", "EventType", "UnknownEvent"])
    return assemble(header, [*writer.written.values(), *envelopes.values(), rest], exported), shared


def answers(document: Schema, shared: frozenset[str], names_of_events: dict[str, str]) -> str:
    defs = document["components"]["schemas"]
    writer = Writer(defs, {**names_of_events, **ANSWERS}, shared - set(ANSWERS))
    for definition in ANSWERS:
        writer.define(definition, defs[definition])
    header = HEADER.format(title="What the daemon answers.", imports="Fields")
    if writer.borrowed:
        header += f"from .events import {', '.join(sorted(writer.borrowed))}\n"
    return assemble(header, list(writer.written.values()), sorted([*writer.written, *writer.parts]))


def assemble(header: str, parts: list[str], exported: list[str]) -> str:
    names = "".join(f'    "{name}",\n' for name in exported)
    body = f"{header}\n__all__ = [\n{names}]\n\n\n" + "\n\n".join(part.rstrip("\n") + "\n" for part in parts)
    # What is not used is not imported.
    for name, line in {
        "Annotated": "Annotated, ",
        "Literal": ", Literal",
    }.items():
        if body.count(name) == 1:
            body = body.replace(line, "", 1)
    if body.count("Field(") == 0:
        body = body.replace("from pydantic import Field\n", "", 1)
    return body


def main() -> int:
    schema = json.loads((REFERENCE / "events.schema.json").read_text())
    document = json.loads((REFERENCE / "openapi.json").read_text())
    event_models, shared = events(schema)
    made = {"events.py": event_models, "api.py": answers(document, shared, {})}
    stale = False
    for name, text in made.items():
        path = GENERATED / name
        if path.exists() and path.read_text() == text:
            continue
        if "--check" in sys.argv:
            stale = True
            print(f"sdk/python: {name} is not current; run `cargo xtask gen` and commit it", file=sys.stderr)
        else:
            path.write_text(text)
            print(f"wrote sdk/python/src/turnloom/generated/{name}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
