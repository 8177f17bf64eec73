"""The scripted model server for one test: started, asked for its log, ended."""

import json
import pathlib
import subprocess
import sys

SERVER = pathlib.Path(__file__).with_name("model_server.py")


class ScriptedModel:
    """Use it in `with`. `address` is the base URL, or the path of the socket."""

    def __init__(self, folder, turns, faults=(), unix=None):
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "model.jsonl"
        script = folder / "script.json"
        script.write_text(json.dumps({"turns": turns, "faults": list(faults)}))
        self.command = [sys.executable, SERVER, "--script", script, "--log", self.log, *(["--unix", unix] if unix else [])]

    def __enter__(self):
        self.errors = open(self.log.with_suffix(".err"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.address = self.process.stdout.readline().strip()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.errors.seek(0)
        said = self.errors.read()
        self.errors.close()
        if said:
            raise AssertionError(f"the scripted model failed:\n{said}")

    def requests(self):
        """The lines of the log. A line that is being written is left out."""
        text = self.log.read_text() if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def calls(self):
        """The main calls, in order."""
        return [request for request in self.requests() if request.get("call")]
