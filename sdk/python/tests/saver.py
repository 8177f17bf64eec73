"""PawlSaver beside LangGraph's own checkpointer, on the same graph.

Needs the package langgraph, so `python3 -m unittest` does not look for it: tests/sdk/python/run.py runs it.
"""

from __future__ import annotations

import operator
import unittest
from typing import Annotated, Any, Iterator, List, TypedDict

from tests.agentd import AgentdTest


class Saver(AgentdTest):
    def graph(self, checkpointer: Any) -> Any:
        from langgraph.graph import END, START, StateGraph
        builder: Any = StateGraph(dict)
        builder.add_node("one", lambda state: {"n": state["n"] + 1})
        builder.add_node("two", lambda state: {"n": state["n"] * 2})
        builder.add_edge(START, "one")
        builder.add_edge("one", "two")
        builder.add_edge("two", END)
        return builder.compile(checkpointer=checkpointer, interrupt_before=["two"])

    def saver(self) -> Any:
        from pawl.langgraph import PawlSaver
        return PawlSaver(self.connect())

    def savers(self) -> Iterator[Any]:
        from langgraph.checkpoint.memory import InMemorySaver
        yield InMemorySaver()
        yield self.saver()

    def test_a_graph_is_interrupted_and_goes_on(self) -> None:
        config = {"configurable": {"thread_id": "t"}}
        seen = []
        for saver in self.savers():
            graph = self.graph(saver)
            graph.invoke({"n": 1}, config)
            graph = self.graph(saver)
            result = graph.invoke(None, config)
            history = [(one.values, one.next, one.metadata["step"]) for one in graph.get_state_history(config)]
            saver.delete_thread("t")
            seen.append((result, history, graph.get_state(config).values))
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[1][0], {"n": 4})

    def test_the_asynchronous_methods(self) -> None:
        import asyncio

        async def run(saver: Any) -> Any:
            config = {"configurable": {"thread_id": "t"}}
            graph = self.graph(saver)
            await graph.ainvoke({"n": 1}, config)
            result = await graph.ainvoke(None, config)
            history = [one.values async for one in graph.aget_state_history(config)]
            await saver.adelete_thread("t")
            return result, history

        one, other = (asyncio.run(run(saver)) for saver in self.savers())
        self.assertEqual(one, other)

    def deltas(self, checkpointer: Any, snapshot_frequency: int) -> Any:
        from langgraph.channels.delta import DeltaChannel
        from langgraph.graph import START, StateGraph

        def appended(current: List[str], updates: List[List[str]]) -> List[str]:
            return [*current, *(one for update in updates for one in update)]

        words = DeltaChannel(appended, list, snapshot_frequency=snapshot_frequency)
        said: Any = TypedDict("said", {"words": Annotated[List[str], words], "count": Annotated[int, operator.add]})
        builder: Any = StateGraph(said)
        builder.add_node("echo", lambda state: {"words": [state["words"][-1].upper()], "count": 1})
        builder.add_edge(START, "echo")
        return builder.compile(checkpointer=checkpointer)

    def test_a_pruned_thread_has_its_state_and_goes_on(self) -> None:
        for snapshot_frequency in (3, 1000):
            saver = self.saver()
            graph = self.deltas(saver, snapshot_frequency)
            thread = f"every {snapshot_frequency}"
            config = {"configurable": {"thread_id": thread}}
            said: List[str] = []
            for word in ("a", "b", "c", "d", "e", "f"):
                said += [word, word.upper()]
                self.assertEqual(graph.invoke({"words": [word]}, config), {"words": said, "count": len(said) // 2})
                saver.prune([thread])
                self.assertEqual(graph.get_state(config).values["words"], said)
            if snapshot_frequency == 3:
                self.assertLess(len(list(saver.list(config))), len(said), "older than the snapshot")
            saver.prune([thread], strategy="delete")
            self.assertEqual(list(saver.list(config)), [])

    def test_a_copied_thread_goes_on_by_itself(self) -> None:
        saver = self.saver()
        graph = self.deltas(saver, 1000)
        one, other = ({"configurable": {"thread_id": thread}} for thread in ("one", "other"))
        graph.invoke({"words": ["a"]}, one)
        saver.copy_thread("one", "other")
        graph.invoke({"words": ["b"]}, other)
        graph.invoke({"words": ["c"]}, one)
        self.assertEqual([graph.get_state(config).values["words"] for config in (one, other)], [["a", "A", "c", "C"], ["a", "A", "b", "B"]])
        self.assertEqual([state.values["words"] for state in graph.get_state_history(other)][-1:], [[]])

    def test_a_text_is_not_a_list_of_ids(self) -> None:
        saver = self.saver()
        for called in (saver.prune, saver.delete_for_runs):
            with self.assertRaises(TypeError):
                called("t")
        with self.assertRaises(ValueError):
            saver.prune(["t"], strategy="keep_lastest")

    def test_versions_stay_what_they_are(self) -> None:
        saver = self.saver()
        self.assertEqual((saver.get_next_version(None, None), saver.get_next_version(1, None)), (1, 2))
        text = saver.get_next_version("00000000000000000000000000000009.0.5", None)
        self.assertEqual(int(text.split(".")[0]), 10)
        self.assertGreater(text, "00000000000000000000000000000009.0.5")


if __name__ == "__main__":
    unittest.main()
