"""Turns what a script intends (read, write or edit a file, run a command) into a call of a tool that the program declares.

Each program has its own names for tools and arguments; they are found in the schemas that the request has.
"""

import json
import shlex

NAMES = {
    "read": ("read", "readfile"),
    "write": ("write", "writefile"),
    "edit": ("edit", "replace"),
    "search": ("grep", "grepsearch", "searchfilecontent"),
    "shell": ("bash", "runshellcommand", "execcommand", "shellcommand", "shell"),
}
# Arguments by the names that programs have for them, without "_" and in small letters.
ARGUMENTS = {
    "path": ("filepath", "absolutepath", "path"),
    "text": ("content",),
    "old": ("oldstring", "oldtext"),
    "new": ("newstring", "newtext"),
    "pattern": ("pattern",),
    "command": ("command", "cmd"),
    "why": ("description", "instruction"),
}
# The argument that an intent begins with; of the others it is "path".
MEANS = {"shell": "command", "search": "pattern"}
PATCH = "apply_patch"


class UnknownTool(Exception):
    """The program declares no tool, or an argument, that the script knows how to use."""


def plain(name):
    return name.replace("_", "").lower()


def call_of(intent, tools):
    """The pair (tool, arguments) for an intent such as {"edit": path, "old": text, "new": text}."""
    kind = next(iter(intent))
    values = {"why": "As the script says", **intent}
    values[MEANS.get(kind, "path")] = intent[kind]
    name = tool_for(kind, tools)
    if name:
        return name, arguments(tools[name], values)
    if kind == "edit" and PATCH in tools:
        return PATCH, patch_of(values) if tools[PATCH] is None else {"input": patch_of(values)}
    if kind == "shell":
        raise UnknownTool(f"no tool runs commands among {', '.join(tools)}")
    return call_of({"shell": COMMANDS[kind](values)}, tools)


def tool_for(kind, tools):
    return next((name for wanted in NAMES[kind] for name in tools if plain(name) == wanted and tools[name] is not None), None)


def arguments(schema, values):
    """Values for the arguments that a tool has, as far as the intent has them. The required ones must be among them."""
    out = {}
    properties = schema.get("properties", {})
    for name, property_schema in properties.items():
        known = next((value for value, names in ARGUMENTS.items() if plain(name) in names), None)
        if known in values:
            takes_list = "array" in json.dumps(property_schema.get("type", ""))
            out[name] = ["bash", "-c", values[known]] if takes_list and known == "command" else values[known]
        elif name == "edits":
            out[name] = [arguments(property_schema["items"], values)]
        elif name in schema.get("required", []):
            out[name] = instance_of(property_schema)
    return out


def patch_of(values):
    lines = [f"-{line}" for line in values["old"].splitlines()] + [f"+{line}" for line in values["new"].splitlines()]
    return "\n".join(["*** Begin Patch", f"*** Update File: {values['path']}", "@@", *lines, "*** End Patch"]) + "\n"


def replacing(values):
    program = "import pathlib, sys; path = pathlib.Path(sys.argv[1]); path.write_text(path.read_text().replace(*sys.argv[2:]))"
    return shlex.join(["python3", "-c", program, values["path"], values["old"], values["new"]])


# Commands for programs that have no tool for an intent.
COMMANDS = {
    "read": lambda values: shlex.join(["cat", values["path"]]),
    "search": lambda values: shlex.join(["grep", "-rn", values["pattern"], "."]),
    "write": lambda values: shlex.join(["printf", "%s", values["text"]]) + " >" + shlex.quote(values["path"]),
    "edit": replacing,
}


def instance_of(schema):
    """The simplest value that fits a JSON schema."""
    kind = schema.get("type", "object")
    kind = (kind[0] if isinstance(kind, list) else kind).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: instance_of(each) for name, each in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "null": None}.get(kind, "Scripted")


def json_of(schema):
    return json.dumps(instance_of(schema))
