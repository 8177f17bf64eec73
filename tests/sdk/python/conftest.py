# In place of the conftest.py of LangGraph's own tests: PawlSaver is the only checkpointer, and of the tests those are left that
# ask for one. PAWL_SOCKET names the agentd's socket.
import itertools
import uuid

import pawl
import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.store.memory import InMemoryStore
from pawl.langgraph import PawlSaver

NO_DOCKER = True
EPISODES = map("graphs-{}".format, itertools.count())


@pytest.fixture
def checkpointer():
    with pawl.connect(episode=next(EPISODES)) as agent:
        yield PawlSaver(agent)


sync_checkpointer = pytest.fixture(lambda checkpointer: checkpointer, name="sync_checkpointer")
async_checkpointer = pytest.fixture(lambda checkpointer: checkpointer, name="async_checkpointer")
sync_store = pytest.fixture(lambda: InMemoryStore(), name="sync_store")
async_store = pytest.fixture(lambda: InMemoryStore(), name="async_store")
cache = pytest.fixture(lambda: InMemoryCache(), name="cache")
anyio_backend = pytest.fixture(lambda: "asyncio", name="anyio_backend")


@pytest.fixture(params=["sync", "async", "exit"])
def durability(request):
    return request.param


@pytest.fixture
def deterministic_uuids(mocker):
    ids = map("00000000-0000-4000-8000-{:012}".format, itertools.count())  # decimal, as their tests expect it
    return mocker.patch("uuid.uuid4", side_effect=map(uuid.UUID, ids))


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "checkpointer" in item.fixturenames]
