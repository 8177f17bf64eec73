"""Describes the functions of a source tree: a step for each thing that is paid, a child for each file.

Kill it wherever you like and start it again: what was paid is answered from the journal, the files that are done are not
opened again, and the one in the midst goes on from its checkpoint.
"""

import re
import sys
from pathlib import Path

import pawl

agent = pawl.connect()


# The model. Put your provider's call here.
def ask_model(prompt: str) -> str:
    sys.stderr.write(f"model: {prompt}\n")
    agent.usage("stand-in", input_tokens=len(prompt) // 4, output_tokens=8, usd="0.0001")
    return "`" + prompt.split()[-1] + "` does what its name says."


# The tools. Reading and writing of the workspace may happen again: they are no steps.
def list_files() -> "list[str]":
    return sorted(path.name for path in Path(".").glob("*.py"))


def functions_of(file: str) -> "list[str]":
    return re.findall(r"^def (\w+)", Path(file).read_text(), re.M)


def describe(file: str, child: pawl.Child) -> "list[str]":
    """One file. After each function the child's checkpoint says how far it is."""
    saved = agent.load(child.child_id)
    lines = saved.json() if saved else []
    names = agent.run_step("functions", functions_of, file, kind="pure")
    for name in names[len(lines):]:
        # A call that was lost in the midst is paid again (that is cheaper than to ask a person).
        lines.append(agent.run_step("describe " + name, ask_model, f"Describe the function {name}", on_lost="re_execute"))
        agent.save(child.child_id, lines)
    return lines


def main() -> None:
    context = agent.context()
    agent.log(f"session {context.session}" + (", going on" if context.resumed else ""))
    files = agent.run_step("files", list_files, kind="pure")
    with agent.children("writer-0").spawn(threads=2) as spawn:
        described = [(file, spawn.submit({"file": file}, lambda child, file=file: describe(file, child))) for file in files]
    pages = [f"# {file}\n\n" + "\n".join(lines.result()) + "\n" for file, lines in described]
    Path("FUNCTIONS.md").write_text("\n".join(pages))
    print("FUNCTIONS.md is written,", agent.heartbeat("done").spent.usd, "dollars")


if __name__ == "__main__":
    main()
