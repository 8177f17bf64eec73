#!/usr/bin/env python3
"""Agent programs where people have them: folders of version managers and package managers in a temporary home. Each is found, shown and started by
`pawl run --agent`, and `pawl check` names the same mounts. A program that no step sees costs no attempt."""

import os
import re
import subprocess
import tempfile
import time
import unittest
import unittest.mock

import yaml
from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S, plan

WORK = '#!%s\nimport pathlib\npathlib.Path("greeting").write_text("hello, world\\n")\n'
SYSTEM_PYTHON = "/usr/bin/python3"
# In the place of Node or Python of a version manager.
RUNTIME = f'#!/bin/sh\nexec {SYSTEM_PYTHON} "$@"\n'
NPM = "lib/node_modules/@openai/codex/bin/codex.js"

# Folders of programs below a home, and the part of each that a mount shows.
PLACES = [("bin", "bin"), ("go/bin", "go/bin"), (".bun/bin", ".bun"), (".deno/bin", ".deno"), (".opencode/bin", ".opencode"),
          (".npm-global/bin", ".npm-global"), (".npm-packages/bin", ".npm-packages"), (".yarn/bin", ".yarn"), ("n/bin", "n"),
          (".config/nvm/versions/node/v22.1.0/bin", ".config/nvm/versions/node/v22.1.0"),
          (".fnm/node-versions/v22.1.0/installation/bin", ".fnm/node-versions/v22.1.0/installation"),
          (".nodenv/versions/22.1.0/bin", ".nodenv/versions/22.1.0"), (".proto/tools/npm/11.1.0/bin", ".proto/tools/npm/11.1.0"),
          (".local/share/pipx/venvs/own/bin", ".local/share/pipx/venvs/own"), ("anaconda3/bin", "anaconda3"),
          ("miniforge3/envs/own/bin", "miniforge3/envs/own"), ("mambaforge/envs/own/bin", "mambaforge/envs/own"),
          (".conda/envs/own/bin", ".conda/envs/own")]

# As pnpm writes them in the place of links. %s: from the folder of the script to the package's own.
PNPM_9 = """\
#!/bin/sh
basedir=$(dirname "$(echo "$0" | sed -e 's,\\\\,/,g')")

if [ -x "$basedir/own-node" ]; then
  exec "$basedir/own-node"  "$basedir/%s" "$@"
else
  exec own-node  "$basedir/%s" "$@"
fi
"""
PNPM_12 = """\
#!/bin/sh
link="$0"
basedir=$link
basedir="${basedir%%/*}"
basedir_abs=$(CDPATH= cd -P -- "$basedir" && pwd -P) || exit $?
if [ -x "$basedir/own-node" ]; then
  exec "$basedir/own-node"  "$basedir_abs"/'%s' "$@"
else
  exec own-node  "$basedir_abs"/'%s' "$@"
fi
# cmd-shim-target=/of/the/host
"""


class WithHome(WithRun):
    def setUp(self):
        # Not below /tmp: a step writes there, so that no mounted program is in PATH.
        with unittest.mock.patch.object(tempfile, "tempdir", os.path.dirname(PAWL)):
            super().setUp()
        self.write("source/greeting", "x\n")
        self.write("source/test.sh", "grep -q 'hello, world' greeting\n")
        self.commit_all("source")
        (self.root / "home").mkdir()
        self.env = {"HOME": str(self.root / "home"), "XDG_CONFIG_HOME": "", "OPENAI_API_KEY": "key-of-the-tests"}

    def path(self, *folders):
        self.env["PATH"] = ":".join([*(str(self.root / folder) for folder in folders), "/usr/local/bin:/usr/bin:/bin"])

    def program(self, path, interpreter=SYSTEM_PYTHON):
        """A program that does the work. The interpreter: `env NAME`, a path, or a path below the test's folder."""
        if interpreter.startswith("env "):
            interpreter = f"/usr/bin/{interpreter}"
        elif not interpreter.startswith("/"):
            interpreter = self.root / interpreter
        return self.write(path, WORK % interpreter, 0o755)

    def runtime(self, path):
        """A runtime is installed with a library beside its folder `bin`."""
        self.write(f"{path.rpartition('/bin/')[0]}/lib/part", "")
        return self.write(path, RUNTIME, 0o755)

    def link(self, path, target):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).symlink_to(target)

    def make(self, agent="use: codex", **top):
        text = plan(agent="AGENT", gate="sh test.sh", **top)
        self.assertEqual(len(re.findall(r"agent: \{[^}]*\}", text)), 1, text)
        self.write("plan.yaml", re.sub(r"agent: \{[^}]*\}", f"agent: {{{agent}}}", text))

    def mounts_of_check(self):
        """What `pawl check` says to add, as a list of sources."""
        self.make()
        said = self.pawl("check", "plan.yaml", env=self.env).stderr
        found = re.search(r"starts codex, which no step finds: it lies at .*\. Add to the plan: `mounts: (\[.*\])`\n", said)
        self.assertTrue(found, said)
        return [mount["src"] for mount in yaml.safe_load(found[1])]


class Found(WithHome):
    def works(self, mounts):
        said = self.pawl("run", "--agent", "codex", "--goal", "Greet.", "--gate", "sh test.sh", cwd="source", env=self.env).stderr
        self.assertIn(f"pawl: steps see {', '.join(mounts)}\n", said)
        made, = (self.root / "source/.pawl/plans").glob("*/plan.yaml")
        self.assertEqual([mount["src"] for mount in yaml.safe_load(made.read_text())["mounts"]], mounts)
        self.assertEqual(self.pawl_json("status", "last", cwd="source")["phases"][0]["attempts_total"], 1)
        self.assertEqual(self.mounts_of_check(), mounts)

    def node_of_nvm(self):
        self.runtime("home/.nvm/versions/node/v22.1.0/bin/own-node")
        return "~/.nvm/versions/node/v22.1.0"

    def test_in_local_bin_with_packages_of_npm(self):
        self.link("home/.local/bin/codex", f"../{NPM}")
        self.program(f"home/.local/{NPM}", "env own-node")
        self.works(["~/.local/bin", "~/.local/lib/node_modules", self.node_of_nvm()])

    def test_the_newest_version_of_nvm(self):
        for version in ("v9.2.0", "v20.1.0", "v100.1.0"):
            folder = f"home/.nvm/versions/node/{version}"
            self.link(f"{folder}/bin/codex", f"../{NPM}")
            self.program(f"{folder}/{NPM}", "env own-node")
            self.runtime(f"{folder}/bin/own-node")
        self.works(["~/.nvm/versions/node/v100.1.0"])

    def test_a_program_has_the_runtime_beside_it(self):
        self.link("home/.nvm/versions/node/v20.1.0/bin/codex", f"../{NPM}")
        self.program(f"home/.nvm/versions/node/v20.1.0/{NPM}", "env own-node")
        self.runtime("home/.nvm/versions/node/v20.1.0/bin/own-node")
        self.node_of_nvm()
        self.works(["~/.nvm/versions/node/v20.1.0"])

    def test_a_package_of_mise_behind_its_shim(self):
        self.write("home/.local/share/mise/shims/codex", "#!/bin/sh\nexit 1\n", 0o755)
        self.path("home/.local/share/mise/shims")
        folder = "home/.local/share/mise/installs/npm-openai-codex/0.169.0"
        self.link(f"{folder}/bin/codex", f"../{NPM}")
        self.program(f"{folder}/{NPM}", "env own-node")
        self.runtime("home/.local/share/mise/installs/node/22.1.0/bin/own-node")
        self.link("home/.local/share/mise/installs/node/latest", "./22.1.0")
        self.works(["~/.local/share/mise/installs/npm-openai-codex/0.169.0", "~/.local/share/mise/installs/node/22.1.0"])

    def test_a_program_of_mise_without_a_folder_bin(self):
        self.program("home/.local/share/mise/installs/aqua-openai-codex/0.169.0/codex")
        self.works(["~/.local/share/mise/installs/aqua-openai-codex/0.169.0/codex"])

    def test_python_of_asdf_behind_its_shim_in_any_folder(self):
        for folder in ("home/.asdf", "elsewhere"):
            with self.subTest(folder):
                self.write(f"{folder}/shims/codex", "#!/bin/sh\nexit 1\n", 0o755)
                self.path(f"{folder}/shims")
                python = self.runtime(f"{folder}/installs/python/3.12.1/bin/python3.12")
                self.program(f"{folder}/installs/python/3.12.1/bin/codex", str(python))
                shown = f"{folder}/installs/python/3.12.1"
                self.make()
                self.assertEqual(self.mounts_of_check(), [shown.replace("home", "~", 1) if folder.startswith("home") else f"{self.root}/{shown}"])
        self.works([f"{self.root}/elsewhere/installs/python/3.12.1"])

    def test_pyenv_behind_its_shim(self):
        self.write("home/.pyenv/shims/codex", "#!/bin/sh\nexit 1\n", 0o755)
        self.path("home/.pyenv/shims")
        python = self.runtime("home/.pyenv/versions/3.12.1/bin/python3.12")
        self.program("home/.pyenv/versions/3.12.1/bin/codex", str(python))
        self.works(["~/.pyenv/versions/3.12.1"])

    def test_volta_starts_what_is_behind_its_shim(self):
        self.write("home/.volta/bin/volta-shim", "#!/bin/sh\nexit 1\n", 0o755)
        self.link("home/.volta/bin/codex", "volta-shim")
        self.path("home/.volta/bin")
        folder = "home/.volta/tools/image/packages/@openai/codex"
        self.link(f"{folder}/bin/codex", f"../{NPM}")
        self.program(f"{folder}/{NPM}", "env own-node")
        self.runtime("home/.volta/tools/image/node/22.1.0/bin/own-node")
        self.works(["~/.volta/tools/image/packages/@openai/codex", "~/.volta/tools/image/node/22.1.0"])

    def test_fnm_by_the_folder_of_a_shell_and_without_one(self):
        folder = "home/.local/share/fnm/node-versions/v22.1.0/installation"
        self.link(f"{folder}/bin/codex", f"../{NPM}")
        self.program(f"{folder}/{NPM}", "env own-node")
        self.runtime(f"{folder}/bin/own-node")
        self.link("run/fnm_multishells/12_34", self.root / folder)
        self.path("run/fnm_multishells/12_34/bin")
        self.assertEqual(self.mounts_of_check(), ["~/.local/share/fnm/node-versions/v22.1.0/installation"])
        self.path()
        self.works(["~/.local/share/fnm/node-versions/v22.1.0/installation"])

    def test_a_tool_of_uv_with_the_python_that_uv_has(self):
        share = "home/.local/share/uv"
        self.runtime(f"{share}/python/cpython-3.12.1/bin/python3.12")
        self.link(f"{share}/python/cpython-3.12.1/bin/python3", "python3.12")
        self.link(f"{share}/python/cpython-3.12", "cpython-3.12.1")
        self.link(f"{share}/tools/codex/bin/python", self.root / share / "python/cpython-3.12/bin/python3.12")
        self.write(f"{share}/tools/codex/pyvenv.cfg", f"home = {self.root}/{share}/python/cpython-3.12.1/bin\n")
        self.program(f"{share}/tools/codex/bin/codex", f"{share}/tools/codex/bin/python")
        mounts = ["~/.local/share/uv/tools/codex", "~/.local/share/uv/python/cpython-3.12", "~/.local/share/uv/python/cpython-3.12.1"]
        self.assertEqual(self.mounts_of_check(), mounts, "not in PATH")
        self.link("home/.local/bin/codex", "../share/uv/tools/codex/bin/codex")
        self.works(["~/.local/bin", *mounts])

    def test_homebrew(self):
        brew = "home/.linuxbrew"
        self.link(f"{brew}/bin/codex", f"../{NPM}")
        self.program(f"{brew}/{NPM}", f"{brew}/opt/node/bin/node")
        self.runtime(f"{brew}/Cellar/node/22.1.0/bin/node")
        self.link(f"{brew}/opt/node", "../Cellar/node/22.1.0")
        self.works(["~/.linuxbrew"])

    def test_each_plain_place_has_its_mount(self):
        """One plan starts a program of each, since a run for each would take half a minute."""
        for number, (folder, shown) in enumerate(PLACES):
            self.write(f"home/{folder}/tool-{number}", f"#!/bin/sh\necho started {folder}\n", 0o755)
            if folder != shown:
                self.write(f"home/{shown}/lib/part", "")
        run = 'run: "%s && echo hello, world >greeting"' % " && ".join(f"tool-{number}" for number in range(len(PLACES)))
        self.make(run)
        said = self.pawl("check", "plan.yaml", env=self.env).stderr
        found = dict(re.findall(r"starts tool-(\d+), which no step finds: it lies at .*\. Add to the plan: `mounts: (\[.*\])`\n", said))
        for number, (folder, shown) in enumerate(PLACES):
            with self.subTest(folder):
                self.assertEqual(found.get(str(number)), f"[{{src: ~/{shown}}}]", said)
        self.make(run, mounts="[%s]" % ", ".join(f"{{src: ~/{shown}}}" for _, shown in PLACES))
        self.assertNotIn("no step finds", self.pawl("run", "plan.yaml", env=self.env).stderr)
        said = self.pawl("logs", "last", "p1").stdout
        for folder, _ in PLACES:
            self.assertIn(f"started {folder}\n", said)

    def test_what_lies_beside_bin_is_shown_only_to_a_program_that_may_need_it(self):
        self.program("home/code/bin/codex")
        self.write("home/code/customers/list", "x\n")
        self.path("home/code/bin")
        self.works(["~/code/bin"])

    def test_a_link_of_bin_shows_what_it_leads_to(self):
        self.program("home/code/codex/cli.py")
        self.link("home/code/bin/codex", "../codex/cli.py")
        self.path("home/code/bin")
        self.works(["~/code"])

    def test_opt(self):
        self.program("opt/tools/bin/codex")
        self.write("opt/tools/lib/part", "")
        self.program("opt/bin/own-tool")
        self.make('run: "codex && own-tool"')
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"mount --bind opt /opt && '{PAWL}' check plan.yaml"],
                              cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S, env=self.environment(self.env))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for shown in ("/opt/tools", "/opt/bin"):
            self.assertIn(f"Add to the plan: `mounts: [{{src: {shown}}}]`\n", done.stderr)

    def test_beside_a_login(self):
        self.program("home/.codex/bin/codex")
        self.write("home/.codex/auth.json", '{"tokens": {}}')
        self.path("home/.codex/bin")
        self.works(["~/.codex/bin"])

    def test_a_local_install_of_claude_code(self):
        local, shown = "home/.claude/local", "~/.claude/local/node_modules"
        self.link(f"{local}/node_modules/.bin/codex", "../@openai/codex/bin/codex.js")
        self.program(f"{local}/node_modules/@openai/codex/bin/codex.js", "env own-node")
        self.write("home/.claude/.credentials.json", "{}")
        node = self.node_of_nvm()
        self.assertEqual(self.mounts_of_check(), [shown, node], "not in PATH")
        self.write(f"{local}/codex", f'#!/bin/sh\nexec "{self.root}/{local}/node_modules/.bin/codex" "$@"\n', 0o755)
        self.path(local)
        self.works(["~/.claude/local/codex", shown, node])

    def test_conda_is_shown_whole_or_not_at_all(self):
        python = self.runtime("home/miniconda3/bin/python3.12")
        self.program("home/miniconda3/bin/codex", str(python))
        self.write("home/miniconda3/conda-meta/history", "")
        self.works(["~/miniconda3"])
        self.write("home/miniconda3/.env", "SECRET=1\n")
        said = self.pawl("check", "plan.yaml", env=self.env).stderr
        self.assertIn("/miniconda3/bin/codex, and no folder around it may be shown: install it below /usr/local\n", said)

    def test_a_profile_of_nix_is_shown_with_the_store(self):
        self.runtime("home/nix/store/three-python/bin/python3")
        self.program("home/nix/store/two-codex/bin/codex", "home/nix/store/three-python/bin/python3")
        self.link("home/nix/store/one-profile/bin/codex", self.root / "home/nix/store/two-codex/bin/codex")
        self.link("home/.nix-profile", "nix/store/one-profile")
        self.works(["~/.nix-profile/bin", "~/nix/store"])

    def test_proto_behind_its_shim(self):
        self.write("home/.proto/shims/codex", "#!/bin/sh\nexit 1\n", 0o755)
        self.path("home/.proto/shims")
        self.link("home/.proto/tools/node/22.1.0/bin/codex", f"../{NPM}")
        self.program(f"home/.proto/tools/node/22.1.0/{NPM}", "env own-node")
        self.runtime("home/.proto/tools/node/22.1.0/bin/own-node")
        self.works(["~/.proto/tools/node/22.1.0"])

    def test_an_entry_of_snap_is_passed_over(self):
        self.write("snapd/snap", "#!/bin/sh\nexit 1\n", 0o755)
        self.link("snap/bin/codex", self.root / "snapd/snap")
        self.path("snap/bin")
        self.make()
        self.assertIn("starts codex, which no step finds, nor is it on this machine: ", self.pawl("check", "plan.yaml", env=self.env).stderr)
        self.program("home/.local/bin/codex")
        self.works(["~/.local/bin"])

    def test_cargo(self):
        self.program("home/.cargo/bin/codex")
        self.write("home/.cargo/credentials.toml", "token = 'secret'\n")
        self.works(["~/.cargo/bin"])

    def test_the_global_folder_of_pnpm(self):
        pnpm, package = "home/.local/share/pnpm", "global/5/node_modules/@openai/codex/bin/codex.js"
        self.write(f"{pnpm}/codex", PNPM_9 % (package, package), 0o755)
        self.program(f"{pnpm}/global/5/.pnpm/@openai+codex@1/node_modules/@openai/codex/bin/codex.js").chmod(0o644)
        self.link(f"{pnpm}/global/5/node_modules/@openai/codex", "../../.pnpm/@openai+codex@1/node_modules/@openai/codex")
        self.write(f"{pnpm}/store/v3/files/00/id_rsa", "what nobody needs")
        node = self.node_of_nvm()
        pnpm = "~/.local/share/pnpm"
        mounts = [f"{pnpm}/codex", node, f"{pnpm}/global/5/node_modules", f"{pnpm}/global/5/.pnpm"]
        self.assertEqual(self.mounts_of_check(), mounts, "not in PATH")
        self.path("home/.local/share/pnpm")
        self.works(mounts)

    def test_the_global_folder_of_pnpm_11(self):
        pnpm, hashed = "home/.local/share/pnpm", "store/v11/links/@openai/codex/1.0.0/af/node_modules/@openai/codex"
        package = "../global/v11/e3/node_modules/@openai/codex/bin/codex.js"
        self.write(f"{pnpm}/bin/codex", PNPM_12 % (package, package), 0o755)
        self.program(f"{pnpm}/{hashed}/bin/codex.js")
        self.link(f"{pnpm}/global/v11/a0/node_modules/@openai/codex", f"../../../../../{hashed}")
        self.link(f"{pnpm}/global/v11/e3", "a0")
        self.path(f"{pnpm}/bin")
        node = self.node_of_nvm()
        pnpm = "~/.local/share/pnpm"
        self.works([f"{pnpm}/bin", node, f"{pnpm}/global/v11/e3/node_modules", f"{pnpm}/store/v11/links"])

    def test_node_modules_in_path(self):
        self.link("project/node_modules/.bin/codex", "../@openai/codex/bin/codex.js")
        self.program("project/node_modules/@openai/codex/bin/codex.js")
        self.path("project/node_modules/.bin")
        self.works([f"{self.root}/project/node_modules"])
        found, = [each for each in self.pawl_json("agents", env=self.env)["agents"] if each["name"] == "codex"]
        self.assertEqual((found["can_be_used"], found["mounts"]), (True, [f"{self.root}/project/node_modules"]))

    def test_node_modules_of_the_source(self):
        package = "../@openai/codex/bin/codex.js"
        for kind in ("npm", "pnpm"):
            with self.subTest(kind):
                place = self.root / "source/node_modules/.bin/codex"
                if kind == "npm":
                    self.link("source/node_modules/.bin/codex", package)
                else:
                    place.unlink()
                    self.write("source/node_modules/.bin/codex", PNPM_9 % (package, package), 0o755)
                    self.node_of_nvm()
                self.program("source/node_modules/@openai/codex/bin/codex.js")
                self.assertEqual(self.mounts_of_check()[0], f"{self.root}/source/node_modules")
        found, = [each for each in self.pawl_json("agents", cwd="source", env=self.env)["agents"] if each["name"] == "codex"]
        self.assertTrue(found["can_be_used"])
        self.works([f"{self.root}/source/node_modules", "~/.nvm/versions/node/v22.1.0"])

    def test_a_users_own_program_comes_before_the_one_of_the_source(self):
        self.program("source/node_modules/.bin/codex")
        self.program("home/.local/bin/codex")
        self.works(["~/.local/bin"])

    def test_beside_keys_and_in_a_folder_of_any_name(self):
        self.program("home/bin/codex")
        self.write("home/bin/.env", "SECRET=1\n")
        self.assertEqual(self.mounts_of_check(), ["~/bin/codex"])
        self.program("tools/codex")
        self.path("tools")
        self.works([f"{self.root}/tools/codex"])

    def test_a_link_in_a_folder_of_any_name_needs_a_better_place(self):
        self.program("packages/codex/cli.js")
        self.link("tools/codex", "../packages/codex/cli.js")
        self.path("tools")
        said = self.pawl("agents", env=self.env).stdout
        self.assertIn("  no mount puts it into PATH of a step: make a link to it in ~/.local/bin\n", said)
        self.link("home/.local/bin/codex", self.root / "tools/codex")
        self.works(["~/.local/bin", f"{self.root}/tools", f"{self.root}/packages/codex"])

    def test_what_may_not_be_shown(self):
        self.program("home/.docker/bin/codex")
        self.path("home/.docker/bin")
        self.assertIn("  its folder may not be shown to a step: install it below /usr/local\n", self.pawl("agents", env=self.env).stdout)
        said = self.pawl("run", "--agent", "codex", "--goal", "g", "--gate", "true", cwd="source", env=self.env, expect=11).stderr
        self.assertIn("codex: its folder may not be shown to a step", said)


class InPath(WithHome):
    """What a mount adds to PATH of each step."""

    def test_programs_of_node_modules_hide_none_of_the_system(self):
        self.write("tree/node_modules/.bin/cat", "#!/bin/sh\necho not the cat of the system\n", 0o755)
        self.write("tree/node_modules/.bin/own-tool", "#!/bin/sh\necho it is the own tool\n", 0o755)
        self.make('run: "own-tool; cat /dev/null; echo hello, world >greeting"', mounts=f"[{{src: {self.root}/tree/node_modules}}]")
        self.pawl("run", "plan.yaml", env=self.env)
        said = self.pawl("logs", "last", "p1").stdout
        self.assertIn("it is the own tool\n", said)
        self.assertNotIn("not the cat", said)

    def test_no_step_can_put_a_program_beside_a_mounted_one(self):
        self.write("tools/own-tool", "#!/bin/sh\necho it is the own tool\n", 0o755)
        for dst, found in ((f"{self.root}/tools/own-tool", True), ("/opt/any/own-tool", True), ("/tmp/any/own-tool", False)):
            with self.subTest(dst):
                folder = os.path.dirname(dst)
                written = "! touch" if found else "touch"
                self.make(f'run: "own-tool || true; {written} {folder}/ls; echo hello, world >greeting"', mounts=f"[{{src: {self.root}/tools/own-tool, dst: {dst}}}]")
                self.pawl("run", "plan.yaml", env=self.env)
                self.assertEqual("it is the own tool\n" in self.pawl("logs", "last", "p1").stdout, found)

    def test_programs_by_a_link_of_etc_are_those_of_the_system(self):
        links = [each for each in os.scandir("/usr/bin") if each.is_symlink() and os.readlink(each).startswith("/etc/alternatives/")]
        for name in sorted(each.name for each in links if os.path.isfile(each) and re.fullmatch("[a-z]+", each.name))[:3]:
            self.make(f"run: {name}")
            self.assertNotIn("no step finds", self.pawl("check", "plan.yaml", env=self.env).stderr, name)


class Unseen(WithHome):
    def refused(self, agent, *words):
        self.make(agent)
        self.assertIn("warning: agent of phase p1 starts ", self.pawl("check", "plan.yaml", env=self.env).stderr)
        for options in ((), ("--json",)):
            done = self.pawl("run", "plan.yaml", *options, env=self.env, expect=11)
            self.assertEqual(done.stdout, "")
            for word in (*words, "No attempt was spent"):
                self.assertIn(word, done.stderr)
        self.assertFalse((self.root / "source/.pawl").exists())

    def test_no_attempt_is_spent_on_a_known_program(self):
        self.refused("use: codex", "plan.yaml: error: agent of phase p1 starts codex, which no step finds, nor is it on this machine: "
                                   "`npm install -g @openai/codex` installs it\n")
        self.refused("acp: [own-agent, --acp]", "starts own-agent, which no step finds, nor is it on this machine: install it below /usr")
        self.program("home/.local/bin/codex")
        self.program("home/.local/bin/own-agent")
        for agent in ("use: codex", "acp: [own-agent, --acp]"):
            self.refused(agent, ": it lies at ", "Add to the plan: `mounts: [{src: ~/.local/bin}]`\n")
        self.make(mounts="[{src: ~/.local/bin}]")
        self.pawl("run", "plan.yaml", env=self.env)

    def ends(self, command, *words):
        self.make(f"run: {command}", max_attempts="3")
        self.assertIn("the agent can't start: ", self.pawl("run", "plan.yaml", env=self.env, expect=11).stdout)
        phase, = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("escalate", 1))
        for word in (*words, "; install it below /usr, then `pawl retry`, or correct the plan, then start a new run"):
            self.assertIn(word, phase["last_failure_reason"])

    def test_a_command_that_can_not_start_has_one_attempt(self):
        self.ends('"no-such-agent --all"', "no-such-agent, which its command needs, is not in the sandbox, nor is it on this machine")
        self.ends('["no-such-agent"]', "no-such-agent, which its command needs, ")
        self.program("home/.local/bin/my-agent", "env own-node")
        self.runtime("home/node/bin/own-node")
        self.path("home/node/bin")
        self.ends("my-agent", "my-agent, which its command needs, ", "Add to the plan: `mounts: [{src: ~/.local/bin}, {src: ~/node}]`")

    def test_so_has_one_whose_interpreter_is_missing(self):
        self.program("home/.local/bin/my-agent", "env own-node")
        self.runtime("home/node/bin/own-node")
        self.path("home/node/bin")
        self.make("run: my-agent", max_attempts="3", mounts="[{src: ~/.local/bin}]")
        self.pawl("run", "plan.yaml", env=self.env, expect=11)
        phase, = self.pawl_json("status", "last")["phases"]
        self.assertEqual(phase["attempts_total"], 1)
        self.assertIn("own-node, which its command needs, is not in the sandbox: it lies at ", phase["last_failure_reason"])

    def test_a_127_of_something_else_is_a_failed_attempt(self):
        self.make('run: "if [ -e greeting ]; then no-such-tool; fi"', max_attempts="2")
        self.pawl("run", "plan.yaml", env=self.env, expect=None)
        phase, = self.pawl_json("status", "last")["phases"]
        self.assertEqual(phase["attempts_total"], 2)


class Asked(WithHome):
    def test_each_program_is_asked_once_and_several_at_a_time(self):
        # gemini and qwen have two profiles each: one after the other, they would take 18 seconds.
        for name in ("gemini", "qwen", "codex", "pi"):
            self.write(f"home/.local/bin/{name}", "#!/bin/sh\nsleep 3\necho 1.2.3\n", 0o755)
        begin = time.monotonic()
        with unittest.mock.patch.dict(os.environ, self.env):
            said = self.on_a_terminal("agents").decode()
        self.assertLess(time.monotonic() - begin, 10)
        self.assertRegex(said, r"\rasking programs for their versions: \d of 4, \d s")
        self.assertEqual(said.count("  1.2.3 "), 6)

    def test_another_version_than_the_tested_one_is_told(self):
        self.write("home/.local/bin/codex", "#!/bin/sh\necho codex 7.8.9\n", 0o755)
        self.write("home/.local/bin/own-tool", "#!/bin/sh\necho 2.4.1\n", 0o755)
        self.write("home/.config/pawl/agents/own.yaml", 'version: 1\ntested: "2.4"\nrun: [own-tool, "{args}", "{prompt}"]\n')
        said = self.pawl("agents", env=self.env).stdout
        self.assertRegex(said, r"codex  7\.8\.9 \(its profile is for [0-9.]+\)  /")
        self.assertIn("own  2.4.1  /", said)


if __name__ == "__main__":
    unittest.main(verbosity=1)
