"""PawlSaver beside LangGraph's own checkpointer, on the same graph.

A test of its own, and not found by `python3 -m unittest`: where LangGraph is not installed it ends with SKIPPED, so that
CTest's summary says that it was not run.
"""

from __future__ import annotations

import importlib.util
import sys
import unittest
from typing import Any, Iterator

from tests.agentd import AgentdTest

SKIPPED = 77


def installed() -> bool:
    """langgraph-checkpoint alone has the package langgraph, too, but no graph in it."""
    return importlib.util.find_spec("langgraph") is not None and importlib.util.find_spec("langgraph.graph") is not None


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

    def savers(self) -> Iterator[Any]:
        from langgraph.checkpoint.memory import InMemorySaver
        from pawl.langgraph import PawlSaver
        yield InMemorySaver()
        yield PawlSaver(self.connect())

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


if __name__ == "__main__":
    if not installed():
        print("not run: the package langgraph is not installed", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main()
