"""What keeps LangGraph's states. The checkpointer itself is tested by saver.py, with LangGraph."""

from __future__ import annotations

import dataclasses
import unittest
from typing import Any, List

from pawl.threads import Place, Threads, Write
from tests.agentd import AgentdTest


class Kept(AgentdTest):
    def setUp(self) -> None:
        super().setUp()
        self.threads = Threads(self.connect())

    def put(self, thread: str, namespace: str, id: str, parent: Any = None) -> Place:
        place = Place(thread, namespace, id)
        self.threads.put(place, parent, ("msgpack", id.encode()), ("json", b"{}"))
        return place

    def ids(self, *asked: Any) -> List[str]:
        return [state.place.checkpoint_id for state in self.threads.list(*asked)]

    def test_a_state_comes_back_with_its_parent_and_writes(self) -> None:
        self.assertIsNone(self.threads.get("t", "", None))
        self.put("t", "", "1")
        place = self.put("t", "", "2", "1")
        writes = [Write("task/b", 0, "out", ("msgpack", b"\n\0"), "path"), Write("task/b", -1, "__error__", ("json", b""), "")]
        self.threads.put_writes(place, writes)
        self.threads.put_writes(place, [Write("a", 0, "out", ("bytes", b"a"), "")])
        for id in (None, "2"):
            state = Threads(self.connect()).get("t", "", id)
            assert state is not None
            self.assertEqual((state.place, state.parent_id, state.checkpoint, state.metadata),
                             (place, "1", ("msgpack", b"2"), ("json", b"{}")))
            self.assertEqual([(write.task_id, write.index, write.value) for write in state.writes],
                             [("a", 0, ("bytes", b"a")), ("task/b", -1, ("json", b"")), ("task/b", 0, ("msgpack", b"\n\0"))])

    def test_of_a_write_that_comes_again_the_first_counts_and_of_special_ones_the_last(self) -> None:
        place = self.put("t", "", "1")
        for value in (b"first", b"second"):
            self.threads.put_writes(place, [Write("a", index, "c", ("bytes", value), "") for index in (0, -1)])
        self.threads.put_writes(place, [Write("a", 1, "c", ("bytes", b"more"), "")])
        state = self.threads.get("t", "", "1")
        assert state is not None
        self.assertEqual([(write.index, write.value[1]) for write in state.writes], [(-1, b"second"), (0, b"first"), (1, b"more")])

    def test_lists_by_thread_namespace_and_before(self) -> None:
        for thread, namespace, id in (("t", "", "1"), ("t", "sub|x:1", "2"), ("t", "", "3"), ("tt", "", "4"), ("t/", "", "5")):
            self.put(thread, namespace, id)
        self.assertEqual(self.ids(None, None, None, None), ["5", "4", "3", "2", "1"])
        self.assertEqual(self.ids("t", None, None, None), ["3", "2", "1"])
        self.assertEqual(self.ids("t", "", None, None), ["3", "1"])
        self.assertEqual(self.ids("t", "sub|x:1", None, None), ["2"])
        self.assertEqual(self.ids("t", "", "1", None), ["1"])
        self.assertEqual(self.ids("t", None, None, "3"), ["2", "1"])
        self.assertEqual(self.ids("t", "sub|x:1", None, "3"), ["2"], "before a state of another namespace")
        self.assertEqual(self.ids("t", "", None, "2"), ["1"], "and before one that is not there")
        self.put("t", "", "3", "1")  # put again: still one state
        self.assertEqual(self.ids("t", "", None, None), ["3", "1"])

    def test_writes_come_in_the_order_of_the_tasks_paths(self) -> None:
        place = self.put("t", "", "1")
        for task, path in (("a", "~pull, 2"), ("b", "~pull, 1"), ("c", "")):
            self.threads.put_writes(place, [Write(task, index, "c", ("bytes", b""), path) for index in (0, 1)])
        state = self.threads.get("t", "", "1")
        assert state is not None
        self.assertEqual([(write.task_id, write.index) for write in state.writes],
                         [("c", 0), ("c", 1), ("b", 0), ("b", 1), ("a", 0), ("a", 1)])

    def test_the_newest_is_the_highest_id_in_whatever_order_they_were_put(self) -> None:
        for id in ("3", "1", "2"):
            self.put("t", "", id)
        for threads in (self.threads, Threads(self.connect())):
            state = threads.get("t", "", None)
            assert state is not None
            self.assertEqual(state.place.checkpoint_id, "3")
        self.assertEqual(self.ids("t", "", None, None), ["3", "2", "1"])
        self.put("t", "", "4")
        state = Threads(self.connect()).get("t", "", None)
        assert state is not None
        self.assertEqual(state.place.checkpoint_id, "4")

    def test_names_can_be_anything(self) -> None:
        names = ["a/b", "a", "%2F", "~", "=", "\u00e9 \U0001f600|:", "x" * 2000, "y" * 121]
        for name in names:
            place = self.put(name, "ns " + name, "1")
            self.threads.put_writes(place, [Write(name, 0, "c", ("bytes", b"first"), "")])
            self.threads.put_writes(place, [Write(name, 1, "c", ("bytes", b"more"), "")])
        threads = Threads(self.connect())
        for name in names:
            state = threads.get(name, "ns " + name, "1")
            assert state is not None
            self.assertEqual(state.place, Place(name, "ns " + name, "1"))
            self.assertEqual([(write.task_id, write.index) for write in state.writes], [(name, 0), (name, 1)])
        self.assertEqual(sorted(state.place.thread for state in threads.list(None, None, None, None)), sorted(names))
        threads.delete("x" * 2000)
        self.assertEqual(len(list(threads.list(None, None, None, None))), len(names) - 1)

    def test_a_thread_is_copied_with_its_writes_and_goes_on(self) -> None:
        for namespace in ("", "sub"):
            for id, parent in (("1", None), ("2", "1")):
                self.threads.put_writes(self.put("t", namespace, id, parent), [Write("a", 0, "c", ("bytes", id.encode()), "path")])
        self.threads.copy("t", "copy")
        self.threads.copy("t", "copy")  # as after a copy that was killed
        self.threads.copy("t", "t")
        for namespace in ("", "sub"):
            for asked in (None, "1", "2"):
                one, other = (self.threads.get(thread, namespace, asked) for thread in ("t", "copy"))
                assert one is not None and other is not None
                self.assertEqual(dataclasses.replace(one, place=other.place), other)
                self.assertEqual(other.place, Place("copy", namespace, asked or "2"))
        self.put("copy", "", "3", "2")
        self.assertEqual((self.ids("copy", "", None, None), self.ids("t", "", None, None)), (["3", "2", "1"], ["2", "1"]))

    def test_of_each_namespace_the_newest_is_kept_and_what_it_needs(self) -> None:
        for namespace in ("", "sub"):
            for id in ("1", "2", "3"):
                self.threads.put_writes(self.put("t", namespace, id), [Write("a", 0, "c", ("bytes", b""), "")])
        self.put("other", "", "1")
        self.threads.keep_newest("t", lambda state: [Place("t", "", "1")] if state.place.namespace == "" else [])
        self.assertEqual(self.ids("t", "", None, None), ["3", "1"])
        self.assertEqual(self.ids("t", "sub", None, None), ["3"])
        self.assertEqual(self.ids("other", None, None, None), ["1"])
        self.assertEqual(len(list(self.connect().list(prefix="langgraph/t/"))), 2 * 3, "the writes of the others are gone, too")

    def test_a_state_is_deleted_with_its_writes_and_no_other(self) -> None:
        for id in ("1", "11"):
            self.threads.put_writes(self.put("t", "", id), [Write("a", 0, "c", ("bytes", b""), "")])
        self.threads.delete_state(Place("t", "", "1"))
        self.assertEqual(len(list(self.connect().list(prefix="langgraph/t/"))), 2)
        state = self.threads.get("t", "", "11")
        assert state is not None
        self.assertEqual(len(state.writes), 1)
        self.put("t", "", "1")
        state = self.threads.get("t", "", None)
        assert state is not None
        self.assertEqual(state.place.checkpoint_id, "11")

    def test_a_thread_is_deleted_and_no_other(self) -> None:
        for thread in ("t", "tt", "t/"):
            self.threads.put_writes(self.put(thread, "", "1"), [Write("a", 0, "c", ("bytes", b""), "")])
        self.threads.delete("t")
        self.assertIsNone(self.threads.get("t", "", "1"))
        self.assertEqual(sorted(state.place.thread for state in self.threads.list(None, None, None, None)), ["t/", "tt"])


if __name__ == "__main__":
    unittest.main()
