"""Steps and children over processes that die."""

from __future__ import annotations

import os
import random
import signal
import time
import unittest
from typing import Any, Dict, List, Tuple
from unittest import mock

import pawl
from tests.agentd import AgentdTest

PAID = """
import os, sys, pawl
agent = pawl.connect()
def told(line):
    with open("told", "a") as file: file.write(line + "\\n")
"""


class Told(AgentdTest):
    """Agents append to the file `told` what they do: the world outside of the journal."""

    def told(self) -> List[str]:
        path = self.root / "told"
        return path.read_text().splitlines() if path.exists() else []


class Steps(Told):
    def test_a_completed_step_is_answered_and_does_not_run(self) -> None:
        program = PAID + """
@agent.step()
def pay(amount, *, to="shop"):
    told(f"paid {amount} to {to}")
    return {"amount": amount, "to": (to, 1.5, None)}
print([pay(1), pay(1), pay(2, to="bank"), agent.run_step("last", lambda a: a, [3])])
"""
        outs = {self.run_program(program) for _ in range(3)}
        self.assertEqual(outs, {"[{'amount': 1, 'to': ['shop', 1.5, None]}, {'amount': 1, 'to': ['shop', 1.5, None]}, "
                                "{'amount': 2, 'to': ['bank', 1.5, None]}, [3]]\n"})
        self.assertEqual(self.told(), ["paid 1 to shop", "paid 1 to shop", "paid 2 to bank"])
        steps = list(self.connect().steps())
        self.assertEqual([(step.key, step.state, step.kind, step.executions) for step in steps],
                         [(key, "done", "effect", 1) for key in ("last", "pay:0", "pay:1", "pay:2")])

    def test_a_step_within_a_step_counts_for_itself(self) -> None:
        program = PAID + """
@agent.step(kind="pure")
def inner(n):
    told(f"inner {n}")
    return n
@agent.step(kind="pure")
def outer(n):
    return inner(n) + inner(n + 1)
print(outer(1), outer(10), inner(5))
if sys.argv[1] == "die": os._exit(9)
inner(6)
"""
        self.run_program(program, "die", expect=9)
        self.run_program(program, "live")
        self.assertEqual(self.told(), [f"inner {n}" for n in (1, 2, 10, 11, 5, 6)])

    def test_other_arguments_are_an_error_with_both_hashes(self) -> None:
        agent = self.connect()
        agent.run_step("k", abs, -1)
        with self.assertRaises(pawl.DeterminismError) as error:
            agent.run_step("k", abs, -2)
        recorded = next(agent.steps()).args_hash
        self.assertEqual((error.exception.key, error.exception.recorded), ("k", recorded))
        self.assertNotEqual(error.exception.given, recorded)
        self.assertIn(error.exception.given, str(error.exception))
        self.assertIsInstance(error.exception, pawl.Conflict)

    def test_what_fails_is_raised_and_runs_again(self) -> None:
        agent = self.connect()
        calls: List[int] = []

        @agent.step()
        def flaky(number: int) -> int:
            calls.append(number)
            if len(calls) < 3:
                raise ValueError("é" * 9000)
            return number

        for _ in range(2):
            self.assertRaises(ValueError, flaky, 1)
        (step,) = agent.steps()
        self.assertEqual((step.state, step.executions, (step.error or "")[:13]), ("failed", 2, "ValueError: é"))
        self.assertEqual((flaky(1), flaky(2)), (1, 2))
        self.assertEqual([(step.state, step.executions) for step in agent.steps()], [("done", 3), ("done", 1)])
        again = self.connect().step()(flaky.__wrapped__)  # type: ignore[attr-defined]
        self.assertEqual((again(1), again(2)), (1, 2))
        self.assertEqual(calls, [1, 1, 1, 2])

    def test_a_result_that_is_no_json_is_an_error_and_the_step_is_not_done(self) -> None:
        agent = self.connect()
        with self.assertRaisesRegex(TypeError, "the result of k is a object"):
            agent.run_step("k", object)
        self.assertEqual(next(agent.steps()).state, "begun")

    def test_what_has_run_and_was_not_kept_does_not_run_again(self) -> None:
        agent = self.connect()
        paid: List[str] = []

        @agent.step()
        def pay(result: str) -> str:
            paid.append(result[:5])
            return result if result != "wrong" else result + "\ud800"

        large = "x" * (2 << 20)
        for result, error in ((large, pawl.TooLarge), ("wrong", TypeError)):
            for _ in range(3):
                self.assertRaises(error, pay, result)
        self.assertEqual(paid, ["xxxxx", "wrong"])
        self.assertEqual([(step.state, step.executions) for step in agent.steps()], [("begun", 1)] * 2)
        self.assertEqual(pay("right"), "right")

    def test_a_result_that_could_not_be_told_is_told_by_the_next_call(self) -> None:
        agent = self.connect()
        paid: List[int] = []

        def pay() -> int:
            paid.append(1)
            return len(paid)

        tell = agent._journal._post

        def unheard(verb: str, body: bytes) -> bytes:
            if verb == "complete":
                raise pawl.Unavailable("gone")
            return tell(verb, body)

        with mock.patch.object(agent._journal, "_post", unheard):
            self.assertRaises(pawl.Unavailable, agent.run_step, "k", pay)
        self.assertEqual(agent.run_step("k", pay), 1)
        self.assertEqual(paid, [1])
        self.assertEqual(next(agent.steps()).state, "done")

    def test_many_steps_are_listed_over_pages(self) -> None:
        agent = self.connect()
        for number in range(1100):
            agent.run_step(f"{number:04}", lambda: None, kind="pure")
        self.assertEqual([step.key for step in agent.steps()], [f"{number:04}" for number in range(1100)])


PAWL_AGAIN = PAID + """
@agent.step(**eval(sys.argv[1]))
def pay():
    told("paid again")
for _ in range(2):
    try:
        pay()
    except pawl.Waiting:
        told("asked")
"""


class Lost(Told):
    PROGRAM = PAID + """
@agent.step(**eval(sys.argv[2]))
def pay():
    told("paid")
    if sys.argv[1] == "die": os._exit(9)
    return "paid now"
try:
    print(pay())
except pawl.Waiting as waiting:
    print("asked", waiting.question.key)
except pawl.StepLost as lost:
    print("lost", lost.key)
"""

    def lose(self, how: str, episode: str = "default") -> str:
        self.run_program(self.PROGRAM, "die", how, expect=9, PAWL_EPISODE_ID=episode)
        return self.run_program(self.PROGRAM, "live", how, PAWL_EPISODE_ID=episode)

    def test_a_pure_step_runs_again(self) -> None:
        self.assertEqual(self.lose("dict(kind='pure')"), "paid now\n")
        self.assertEqual(self.told(), ["paid", "paid"])

    def test_an_effect_may_run_again_when_the_program_says_so(self) -> None:
        self.assertEqual(self.lose("dict(on_lost='re_execute')"), "paid now\n")

    def test_a_step_that_waits_for_a_person_is_the_same_one_when_it_is_called_again(self) -> None:
        self.run_program(self.PROGRAM, "die", "dict(wait=0)", expect=9)
        self.run_program(PAWL_AGAIN, "dict(wait=0)")
        self.assertEqual(self.told(), ["paid", "asked", "asked"])

    def test_fail(self) -> None:
        self.assertEqual(self.lose("dict(on_lost='fail')"), "lost pay:0\n")
        self.assertEqual(self.told(), ["paid"])

    def test_a_person_says_what_happened(self) -> None:
        for episode, answer, then, paid in (("e1", 'done "paid before"', "paid before\n", 1), ("e2", "run", "paid now\n", 2),
                                            ("e3", "fail", "lost pay:0\n", 1)):
            with self.subTest(answer):
                (self.root / "told").unlink(missing_ok=True)
                asked, key = self.lose("dict(wait=0)", episode).split(maxsplit=1)
                self.assertEqual(asked, "asked")
                waiting = self.start(self.PROGRAM, "live", "dict()", PAWL_EPISODE_ID=episode)
                self.answer(key.strip(), answer, episode)
                out, err = waiting.communicate(timeout=60)
                self.assertEqual(out, then, err)
                self.assertEqual(self.told(), ["paid"] * paid)


class Children(Told):
    PROGRAM = PAID + """
agent_children = agent.children("planner-0")
def work(child):
    told(f"{child.child_id} {'resumes' if child.resumed else 'starts'}")
    at = agent.load(child.child_id)
    for turn in range(at.json() if at else 0, 3):
        agent.run_step(f"turn-{turn}", told, f"{child.child_id} turn {turn}", kind="pure")
        agent.save(child.child_id, turn + 1)
        if sys.argv[1] == child.child_id and turn == 1: os._exit(9)
    return child.child_id + " did it"
specs = [{"file": "same"}, {"file": "same"}, {"file": "same"}]
"""
    SEQUENTIAL = PROGRAM + "print([agent_children.run(spec, work) for spec in specs])\n"
    AT_ONCE = PROGRAM + """
with agent_children.spawn(threads=3) as spawn:
    futures = [spawn.submit(spec, work) for spec in specs]
print([future.result() for future in futures])
"""

    def test_one_is_answered_one_is_resumed_one_starts(self) -> None:
        self.run_program(self.SEQUENTIAL, "planner-0/1.0", expect=9)
        self.assertEqual([row.state for row in self.connect().spawned()], ["done", "running"])
        first = self.told()
        self.assertEqual(first, ["planner-0/0.0 starts"] + [f"planner-0/0.0 turn {turn}" for turn in range(3)] +
                         ["planner-0/1.0 starts"] + [f"planner-0/1.0 turn {turn}" for turn in range(2)])
        results = str([f"planner-0/{number}.0 did it" for number in range(3)]) + "\n"
        self.assertEqual(self.run_program(self.SEQUENTIAL, ""), results)
        second = ["planner-0/1.0 resumes", "planner-0/1.0 turn 2", "planner-0/2.0 starts"]
        second += [f"planner-0/2.0 turn {turn}" for turn in range(3)]
        self.assertEqual(self.told(), first + second)
        self.assertEqual(self.run_program(self.SEQUENTIAL, ""), results)
        self.assertEqual(self.told(), first + second)
        self.assertEqual([(row.child_id, row.state, row.result) for row in self.connect().spawned()],
                         [(f"planner-0/{n}.0", "done", f"planner-0/{n}.0 did it") for n in range(3)])

    def test_identical_twins_at_once_do_not_collide(self) -> None:
        self.run_program(self.AT_ONCE, "planner-0/0.1", expect=9)
        results = str([f"planner-0/0.{number} did it" for number in range(3)]) + "\n"
        for _ in range(2):
            self.assertEqual(self.run_program(self.AT_ONCE, ""), results)
        turns = [line for line in self.told() if " turn " in line]
        self.assertEqual(sorted(set(turns)), [f"planner-0/0.{child} turn {turn}" for child in range(3) for turn in range(3)])
        self.assertEqual(turns.count("planner-0/0.1 turn 1"), 1)
        for child in range(3):
            starts = [line for line in self.told() if line == f"planner-0/0.{child} starts"]
            self.assertLessEqual(len(starts), 1)

    def test_another_spec_at_the_same_place_is_an_error(self) -> None:
        agent = self.connect()
        self.assertEqual(agent.child("p-0", 0, 0, {"do": "a"}, lambda child: 1), 1)
        with self.assertRaises(pawl.DeterminismError):
            agent.child("p-0", 0, 0, {"do": "b"}, lambda child: 2)
        self.assertEqual(agent.child("p-0", 0, 1, {"do": "b"}, lambda child: 2), 2)

    def test_a_child_that_raises_is_resumed(self) -> None:
        agent = self.connect()

        def fails(child: pawl.Child) -> None:
            raise OSError(child.child_id)

        with self.assertRaisesRegex(OSError, "p-0/0.0"):
            agent.child("p-0", 0, 0, None, fails)
        self.assertTrue(agent.child("p-0", 0, 0, None, lambda child: child.resumed))

    def test_children_of_children(self) -> None:
        program = PAID + """
def leaf(child):
    told(child.child_id)
    return child.child_id
def branch(child):
    return [agent.children(child.child_id).run(n, leaf) for n in range(2)]
print([agent.children("root-0").run(n, branch) for n in range(2)])
"""
        ids = [[f"root-0/{a}.0/{b}.0" for b in range(2)] for a in range(2)]
        for _ in range(2):
            self.assertEqual(self.run_program(program), f"{ids}\n")
        self.assertEqual(self.told(), ids[0] + ids[1])

    def test_no_spawn_is_counted_inside_of_a_step(self) -> None:
        agent = self.connect()
        team = agent.children("lead-0")
        work = lambda child: child.child_id  # noqa: E731
        with team.spawn() as spawn:
            ways: List[Any] = [lambda: team.run("roll", work), team.spawn, lambda: spawn.submit("roll", work)]
            for number, way in enumerate(ways):
                with self.assertRaisesRegex(RuntimeError, r"the step \d-way.*agent.child\(parent, spawn_seq, ordinal"):
                    agent.run_step(f"{number}-way", way)
        self.assertEqual(list(agent.spawned()), [])
        self.assertEqual((team.run("roll", work), team.run("roll", work)), ("lead-0/1.0", "lead-0/2.0"))

    def test_a_child_that_a_step_names_counts_its_own(self) -> None:
        program = PAID + """
def leaf(child):
    told(child.child_id)
    return child.child_id
def branch(child):
    return [agent.children(child.child_id).run("same", leaf) for _ in range(2)]
@agent.step(kind="pure")
def roll(seq):
    ids = agent.child("roll-0", seq, 0, "same", branch)
    if sys.argv[1] == str(seq): os._exit(9)
    return ids
print(roll(0), roll(1), agent.children("lead-0").run("same", leaf))
"""
        self.run_program(program, "1", expect=9)
        ids = [[f"roll-0/{seq}.0/{number}.0" for number in range(2)] for seq in range(2)]
        for _ in range(2):
            self.assertEqual(self.run_program(program, ""), f"{ids[0]} {ids[1]} lead-0/0.0\n")
        self.assertEqual(self.told(), ids[0] + ids[1] + ["lead-0/0.0"])

    def test_a_child_counts_no_spawns_of_another(self) -> None:
        agent = self.connect()
        team = agent.children("lead-0")
        with self.assertRaisesRegex(RuntimeError, "the child lead-0/0.0.*agent.child"):
            team.run("a", lambda child: team.run("a", lambda inner: 1))
        below = team.run("b", lambda child: agent.children(child.child_id + "/coder").run("c", lambda inner: inner.child_id))
        self.assertEqual(below, "lead-0/1.0/coder/0.0")


class Kills(Told):
    """kill -9 of the agent, of the server, or of both, wherever they are."""

    STEPS = 20
    PROGRAM = PAID + """
import time
@agent.step(on_lost="re_execute")
def work(number):
    told(f"run {number}")
    time.sleep(0.003)
    return number * number
for number in range(20):
    assert work(number) == number * number
    told(f"done {number}")
print("finished")
"""

    def test_no_completed_step_runs_again(self) -> None:
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for episode in range(3):
            with self.subTest(seed=seed, episode=episode):
                self.one_episode(chance, f"e{episode}")
                (self.root / "told").unlink()

    def one_episode(self, chance: random.Random, episode: str) -> None:
        kills = 0
        while True:
            process = self.start(self.PROGRAM, PAWL_EPISODE_ID=episode)
            until = len(self.told()) + chance.randint(1, 25)
            self.wait_until(lambda: process.poll() is not None or len(self.told()) >= until, "the agent works")
            time.sleep(chance.random() * 0.01)
            if process.poll() == 0:
                break
            whom = chance.choice(("agent", "server", "both"))
            if whom != "agent":
                self.agentd.send_signal(signal.SIGKILL)
                self.agentd.wait()
            if whom != "server":
                process.kill()
            process.communicate(timeout=120)
            if process.returncode == 0:
                break
            kills += 1
            if whom != "agent":
                self.start_agentd()
        if self.agentd.poll() is not None:
            self.start_agentd()
        self.look(kills)

    def look(self, kills: int) -> None:
        told = self.told()
        runs: Dict[str, int] = {}
        done = set()
        for line in told:
            verb, number = line.split()
            if verb == "done":
                done.add(number)
                continue
            self.assertNotIn(number, done, told)  # a completed step does not run again
            runs[number] = runs.get(number, 0) + 1
        self.assertEqual(done, {str(number) for number in range(self.STEPS)})
        self.assertLessEqual(sum(runs.values()), self.STEPS + kills)  # a kill repeats at most one step: the one in flight
        self.assertGreater(kills, 0)


if __name__ == "__main__":
    unittest.main()
