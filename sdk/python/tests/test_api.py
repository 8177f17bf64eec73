"""Each call, against the real server."""

from __future__ import annotations

import os
import threading
import time
import unittest
from decimal import Decimal
from typing import Any, List

import pawl
from tests.agentd import AgentdTest


class Context(AgentdTest):
    def test_it_says_who_asks(self) -> None:
        context = self.connect("goal-1", "episode-1").context()
        self.assertEqual((context.goal_id, context.episode_id, context.session, context.resumed),
                         ("goal-1", "episode-1", 1, False))
        self.assertEqual((context.spent.usd, context.spent.tokens, context.stop), (0, 0, False))
        self.assertGreaterEqual(context.spent.milliseconds, 0)  # the server's clock runs while the program starts
        self.assertTrue(context.fingerprint.pawl)

    def test_the_environment_names_socket_goal_and_episode(self) -> None:
        out = self.run_program("import pawl; c = pawl.connect().context(); print(c.goal_id, c.episode_id)",
                               PAWL_GOAL_ID="g", PAWL_EPISODE_ID="e")
        self.assertEqual(out, "g e\n")

    def test_the_next_process_is_resumed(self) -> None:
        self.run_program("import pawl; a = pawl.connect(); assert a.context().session == 1; a.save('root-0', 'x')")
        context = self.connect().context()
        self.assertEqual((context.session, context.resumed), (2, True))


class Checkpoints(AgentdTest):
    def test_what_was_saved_is_loaded(self) -> None:
        agent = self.connect()
        self.assertIsNone(agent.load("root-0"))
        payloads: Any = ((b"\0\xff", b"\0\xff"), ("é", "é".encode()), ({"n": [1, 2]}, b'{"n":[1,2]}'), (b"", b""))
        for payload, kept in payloads:
            saved = agent.save("root-0", payload)
            loaded = agent.load("root-0")
            assert loaded is not None
            self.assertEqual((loaded.payload, loaded.checkpoint), (kept, saved))
            self.assertEqual((saved.id, saved.size, loaded.changed), ("root-0", len(kept), ()))
        agent.save("root-0", {"turn": 7, "at": 0.1})
        loaded = agent.load("root-0")
        assert loaded is not None
        self.assertEqual((loaded.json(), loaded.text()), ({"turn": 7, "at": 0.1}, '{"turn":7,"at":0.1}'))

    def test_an_id_is_made_of_role_and_depth(self) -> None:
        agent = self.connect()
        self.assertIsNone(agent.load())
        agent.save(payload="whole")
        with self.assertRaisesRegex(TypeError, "nothing to save"):
            agent.save("root-0")

        def inner(child: pawl.Child) -> List[str]:
            agent.save(payload=None)
            return [agent.checkpoint_id(), agent.checkpoint_id("judge")]

        def outer(child: pawl.Child) -> List[str]:
            agent.save(payload="outer")
            ids = [agent.checkpoint_id(), agent.checkpoint_id("judge"), agent.run_step("in a step", agent.checkpoint_id)]
            return ids + agent.children(child.child_id).run("inner", inner)

        self.assertEqual([agent.checkpoint_id(), agent.checkpoint_id("judge")], ["main-0", "judge-0"])
        self.assertEqual(agent.children("main-0").run("outer", outer),
                         ["main-0/0.0", "main-0/0.0/judge-1", "main-0/0.0", "main-0/0.0/0.0", "main-0/0.0/0.0/judge-2"])
        # Another process computes the same id.
        self.assertEqual(sorted(saved.id for saved in agent.list()), ["main-0", "main-0/0.0", "main-0/0.0/0.0"])
        loaded = self.connect().load()
        assert loaded is not None
        self.assertEqual((loaded.checkpoint.id, loaded.text()), ("main-0", "whole"))

    def test_metadata_and_what_was_spent_come_back(self) -> None:
        spent = pawl.Spent(Decimal("0.0125"), 7, 8)
        metadata = {"note": "é" * 100, "n": 3, "deep": {"list": [True, None]}}
        saved = self.connect().save("root-0", b"x", metadata=metadata, spent=spent)
        loaded = self.connect().load("root-0")
        assert loaded is not None
        for checkpoint in (saved, loaded.checkpoint):
            self.assertEqual((checkpoint.metadata, checkpoint.spent), (metadata, spent))

    def test_metadata_may_be_as_large_as_the_api_has_it(self) -> None:
        metadata = {"text": "x" * ((64 << 10) - len('{"text":""}'))}
        agent = self.connect()
        agent.save("root-0", b"x", metadata=metadata)
        loaded = agent.load("root-0")
        assert loaded is not None
        self.assertEqual(loaded.checkpoint.metadata, metadata)
        with self.assertRaisesRegex(pawl.PawlError, "64 KiB"):
            agent.save("root-0", b"x", metadata={"text": metadata["text"] + "x"})

    def test_a_payload_may_be_as_large_as_the_api_has_it(self) -> None:
        agent = self.connect()
        payload = os.urandom(1 << 20) * 64
        agent.save("root-0", payload)
        loaded = agent.load("root-0")
        assert loaded is not None
        self.assertTrue(loaded.payload == payload)
        with self.assertRaises(pawl.TooLarge):
            agent.save("root-0", payload + b"x")
        self.assertEqual(len(list(agent.list())), 1)

    def test_as_many_are_kept_as_was_said(self) -> None:
        agent = self.connect()
        for number in range(7):
            agent.save("five-0", str(number))
            agent.save("two-0", str(number), keep=2)
            agent.save("all-0", str(number), keep=0)
        for id, kept in (("five-0", 5), ("two-0", 2), ("all-0", 7)):
            self.assertEqual(len(list(agent.list(id=id))), kept, id)

    def test_lists_are_newest_first_and_go_on_over_pages(self) -> None:
        agent = self.connect()
        seqs = [agent.save(f"a-{number % 2}", str(number), keep=0).seq for number in range(250)]
        self.assertEqual([one.seq for one in agent.list(prefix="a-")], seqs[::-1])
        self.assertEqual([one.seq for one in agent.list(id="a-1")], seqs[::-1][::2])
        self.assertEqual([one.seq for one in agent.list(before=seqs[2])], [seqs[1], seqs[0]])
        self.assertEqual([one.payload for one in agent.load_all(prefix="a-1", before=seqs[4])], [b"3", b"1"])
        one = agent.load("a-0", seqs[0])
        assert one is not None
        self.assertEqual(one.payload, b"0")
        self.assertIsNone(agent.load("a-1", seqs[0]))

    def test_a_list_that_finds_nothing_names_other_ids(self) -> None:
        agent = self.connect()
        agent.save("a-0", "x")
        listed = agent.list(id="b-0")
        self.assertEqual((list(listed), listed.known), ([], ["a-0"]))
        listed = agent.list(id="a-0")
        self.assertEqual((len(list(listed)), listed.known), (1, []))

    def test_lists_of_large_payloads(self) -> None:
        agent = self.connect()
        payload = os.urandom(12 << 20)
        for number in range(3):
            agent.save(f"a-{number}", payload[number:])
        self.assertEqual([len(one.payload) for one in agent.load_all()], [len(payload) - n for n in (2, 1, 0)])

    def test_prune(self) -> None:
        agent = self.connect()
        for id in ("a-1", "a-10", "b-1"):
            agent.save(id, id)
        self.assertEqual(agent.prune(id="a-1"), 1)
        self.assertEqual([one.id for one in agent.list()], ["b-1", "a-10"])
        self.assertEqual(agent.prune(prefix="a-"), 1)
        self.assertEqual(agent.prune(prefix=""), 1)
        self.assertRaises(TypeError, agent.prune)
        self.assertRaises(TypeError, agent.prune, id="a", prefix="b")

    def test_names_that_need_escapes(self) -> None:
        agent = self.connect()
        for id in ("a b&c=d?e#f%20", "é/ü", "+"):
            agent.save(id, id)
            self.assertEqual([one.id for one in agent.list(id=id)], [id])
        for wrong in ("", "a\nb", "x" * 513):
            self.assertRaises(pawl.PawlError, agent.save, wrong, b"")

    def test_episodes_do_not_see_each_other(self) -> None:
        self.connect("g", "one").save("root-0", "one")
        self.assertIsNone(self.connect("g", "two").load("root-0"))
        self.assertIsNone(self.connect("h", "one").load("root-0"))
        self.assertIsNotNone(self.connect("g", "one").load("root-0"))


class Telling(AgentdTest):
    def test_usage_adds_up_and_counts_an_id_once(self) -> None:
        agent = self.connect()
        for _ in range(2):
            budget = agent.usage("small", 100, 20, cached_tokens=50, usd="0.0125", id="call-1")
        self.assertEqual((budget.spent.usd, budget.stop), (Decimal("0.0125"), False))
        first = budget.spent.tokens
        budget = agent.usage("small", 100, 20, cached_tokens=50, usd=Decimal("1"))
        self.assertEqual((budget.spent.usd, budget.spent.tokens), (Decimal("1.0125"), 2 * first))
        for later in (agent.context().spent, agent.heartbeat("reading").spent):
            self.assertEqual((later.usd, later.tokens), (budget.spent.usd, budget.spent.tokens))
            self.assertGreaterEqual(later.milliseconds, budget.spent.milliseconds)
        saved = agent.save("root-0", b"")
        self.assertEqual(saved.spent.usd, budget.spent.usd)

    def test_usage_in_a_step_counts_each_execution(self) -> None:
        program = """
import os, sys, pawl
agent = pawl.connect()
@agent.step(on_lost="re_execute")
def call():
    agent.usage("small", 10, 0, usd="1")
    agent.usage("small", 10, 0, usd="1")
    if sys.argv[1] == "die": os._exit(9)
call()
call()
"""
        self.run_program(program, "die", expect=9)
        for _ in range(2):
            self.run_program(program, "live")
        self.assertEqual(self.connect().context().spent.usd, Decimal(6))

    def test_log_and_what_is_refused(self) -> None:
        agent = self.connect()
        agent.log("one\ntwo", "warning")
        agent.log("x" * 20_000)
        self.assertRaises(pawl.Invalid, agent.log, "x", "loud")
        self.assertRaises(pawl.Invalid, agent.heartbeat, "x" * 201)
        self.assertRaises(pawl.Invalid, agent.usage, "small", -1, 0)

    def test_a_question_waits_for_its_answer(self) -> None:
        agent = self.connect()
        with self.assertRaises(pawl.Waiting) as waiting:
            agent.ask("Which?", ["a", "b"], key="which", wait=0)
        question = waiting.exception.question
        self.assertEqual((question.key, question.question, question.choices, question.answer),
                         ("which", "Which?", ["a", "b"], None))
        answers: List[str] = []
        asker = threading.Thread(target=lambda: answers.append(agent.ask("Which?", ["a", "b"], key="which")))
        asker.start()
        self.answer("which", "b")
        asker.join(60)
        self.assertEqual(answers, ["b"])
        self.assertEqual(self.connect().ask("Which?", ["a", "b"], key="which"), "b")
        self.assertRaises(pawl.Conflict, agent.ask, "What?", key="which")

    def test_a_question_without_a_key_is_found_again_by_the_next_process(self) -> None:
        program = "import pawl; a = pawl.connect(); print(a.ask('Go on?', wait=0), a.ask('Go on?', wait=0))"
        with self.assertRaises(pawl.Waiting) as waiting:
            self.connect().ask("Go on?", wait=0)
        first = waiting.exception.question.key
        self.answer(first, "yes")
        self.run_program(program, expect=1)
        self.answer(first[:-1] + "1", "no")
        self.assertEqual(self.run_program(program), "yes no\n")


class Connections(AgentdTest):
    def test_many_threads_ask_at_once(self) -> None:
        agent = self.connect()
        failed: List[BaseException] = []

        def work(number: int) -> None:
            try:
                for turn in range(10):
                    agent.save(f"t-{number}", f"{number} {turn}")
                    loaded = agent.load(f"t-{number}")
                    assert loaded is not None and loaded.text() == f"{number} {turn}"
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(80)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_those_who_wait_for_a_person_do_not_stop_the_others(self) -> None:
        agent = self.connect()
        waiters = [threading.Thread(target=self.ask_in_vain, args=(agent, number)) for number in range(40)]
        for waiter in waiters:
            waiter.start()
        begun = time.monotonic()
        agent.heartbeat()
        self.assertLess(time.monotonic() - begun, 25)  # less than the long poll that it would otherwise wait for
        for number in range(40):
            self.answer(f"q-{number}", "x")
        for waiter in waiters:
            waiter.join()

    @staticmethod
    def ask_in_vain(agent: pawl.Agent, number: int) -> None:
        agent.ask("Well?", key=f"q-{number}")

    def test_a_server_that_was_started_again_is_found(self) -> None:
        agent = self.connect()
        agent.save("root-0", "before")
        self.kill_agentd()
        with self.assertRaises(pawl.Unavailable):
            agent.load("root-0")
        self.start_agentd()
        loaded = agent.load("root-0")
        assert loaded is not None
        self.assertEqual(loaded.text(), "before")
        self.kill_agentd()
        self.start_agentd()
        agent.log("the connection that was kept is closed: not a line is lost")

    def test_a_forked_process_is_another_session(self) -> None:
        out = self.run_program("""
import os, threading, pawl
agent = pawl.connect()
print(agent.context().session, flush=True)
stop = threading.Event()
def busy():
    while not stop.is_set(): agent.heartbeat()
thread = threading.Thread(target=busy)
thread.start()
for number in range(20):
    child = os.fork()
    if child == 0:
        agent.save(f"forked-{number}", str(agent.context().session))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
thread.join()
print(agent.context().session)
""")
        self.assertEqual(out, "1\n1\n")
        sessions = {loaded.text() for loaded in self.connect().load_all(prefix="forked-")}
        self.assertEqual(sessions, {str(number) for number in range(2, 22)})

    def test_a_socket_whose_path_is_longer_than_an_address_holds(self) -> None:
        deep = self.root
        while len(os.fsencode(str(deep))) < 200:
            deep = deep / ("d" * 40)
        deep.parent.mkdir(parents=True)
        deep.symlink_to(self.root, target_is_directory=True)
        with pawl.connect(str(deep / "s")) as agent:
            self.assertEqual(agent.context().attempt, self.connect().context().attempt)


class Refusals(AgentdTest):
    def test_errors_say_what_the_server_said(self) -> None:
        with self.assertRaises(pawl.PawlError) as refused:
            self.connect("../up").context()
        self.assertEqual(refused.exception.status // 100, 4)
        self.assertTrue(refused.exception.title and refused.exception.detail)

    def test_a_result_that_is_too_large_is_told(self) -> None:
        agent = self.connect()
        large = "x" * ((1 << 20) + 1)
        with self.assertRaisesRegex(pawl.PawlError, "1048576"):
            agent.run_step("large", lambda: large)
        self.assertEqual(next(agent.steps()).state, "begun")  # it ran: to record a failure would be wrong


if __name__ == "__main__":
    unittest.main()
