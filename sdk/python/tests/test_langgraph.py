"""What keeps LangGraph's states. The checkpointer itself is tested by saver.py, where LangGraph is installed."""

from __future__ import annotations

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
        self.assertEqual(self.ids("t", None, None, Place("t", "", "3")), ["2", "1"])
        self.put("t", "", "3", "1")  # put again: one state still
        self.assertEqual(self.ids("t", "", None, None), ["3", "1"])

    def test_a_thread_is_deleted_and_no_other(self) -> None:
        for thread in ("t", "tt", "t/"):
            self.threads.put_writes(self.put(thread, "", "1"), [Write("a", 0, "c", ("bytes", b""), "")])
        self.threads.delete("t")
        self.assertIsNone(self.threads.get("t", "", "1"))
        self.assertEqual(sorted(state.place.thread for state in self.threads.list(None, None, None, None)), ["t/", "tt"])


if __name__ == "__main__":
    unittest.main()
