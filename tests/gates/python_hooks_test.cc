// Hooks of pytest that decide what it says of a test, beside those that only help tests.
#include "gates/policy/python_hooks.h"

#include <gtest/gtest.h>

#include "base/lines.h"
#include "gates/policy/shadowing.h"

namespace pawl::gates {
namespace {

FileChange change_of(const std::string& path, const std::string& text, const std::string& before = "") {
  FileChange out{.path = path};
  if (!before.empty()) out.before = FileVersion{.content = before};
  out.after = FileVersion{.content = text};
  std::int64_t number = 0;
  for (const auto line : TextLines(text)) {
    ++number;
    if (before.find(line) == before.npos) out.added.push_back({.number = number, .text = line});
  }
  return out;
}

TEST(PythonHooks, ThatSayHowATestEndedAreFindings) {
  for (const char* text :
       {"def pytest_runtest_makereport(item, call): pass\n", "async def pytest_pyfunc_call(x): return True\n",
        "def pytest_runtest_protocol(item):\n    return True\n",
        "def pytest_report_teststatus(report): pass\n",
        "def pytest_runtest_logreport(report): report.outcome = 'passed'\n",
        "def pytest_sessionfinish(session): session.exitstatus = 0\n", "import os\nos._exit(0)\n",
        "from os import _exit\n", "pytest_runtest_call = lambda item: None\n",
        "from evil import f as pytest_pyfunc_call\n", "globals()['pytest_pyfunc_call'] = f\n",
        "class P:\n    def pytest_runtestloop(self, session): return True\n"})
    for (const char* path : {"conftest.py", "tests/unit/conftest.py"})
      EXPECT_NE(forging_hook(change_of(path, text), {}, nullptr), "") << path << ": " << text;
}

TEST(PythonHooks, ThatHelpTestsAreFree) {
  for (const char* text :
       {"import pytest\n@pytest.fixture\ndef db(): yield 1\n", "def pytest_addoption(parser): pass\n",
        "def pytest_configure(config): config.addinivalue_line('markers', 'slow: x')\n",
        "def pytest_collection_modifyitems(items): items.sort()\n", "# not pytest_runtest_makereport\n",
        "def pytest_runtest_setup(item): pass\n", "import os\nos.environ['A'] = 'b'\n",
        "def my_pytest_pyfunc_call_helper(): pass\n", "pytest_plugins = ['pytester', 'tests.gone']\n"})
    EXPECT_EQ(forging_hook(change_of("conftest.py", text), {}, [](const auto&) { return std::string(); }), "")
        << text;
  const std::string hook = "def pytest_runtest_makereport(item, call): pass\n";
  EXPECT_EQ(forging_hook(change_of("conftest.py", "import pytest\n" + hook, hook), {}, nullptr), "")
      << "base has it";
  EXPECT_EQ(forging_hook(change_of("tests/test_a.py", hook), {}, nullptr), "")
      << "pytest calls no hook there";
  EXPECT_EQ(forging_hook({.path = "conftest.py", .before = FileVersion()}, {}, nullptr), "") << "deleted";
}

TEST(PythonHooks, OfAPluginOfTheWorkspaceAreRead) {
  std::string plugin = "def pytest_pyfunc_call(x): return True\n";
  const auto text_at = [&](const std::string& path) {
    return path == "tests/helpers/plugin.py" ? plugin : std::string();
  };
  const auto found = [&](const std::string& text) {
    return forging_hook(change_of("tests/conftest.py", text), {}, text_at);
  };
  const std::vector<std::string> ways = {
      "pytest_plugins = ['tests.helpers.plugin']\n",
      "pytest_plugins: list = [\n    'pytester',\n    \"helpers.plugin\",\n]\n",
      "pytest_plugins = 'tests.helpers.plugin'\n", "from .helpers.plugin import *\n",
      "pytest_plugins = ('tests.helpers.plugin',)\n"};
  for (const auto& way : ways) EXPECT_NE(found(way), "") << way;
  plugin = "import pytest\n@pytest.fixture\ndef db(): pass\n";
  for (const auto& way : ways) EXPECT_EQ(found(way), "") << "it has fixtures only: " << way;
}

TEST(PythonHooks, OfAPluginThatBaseLoadsAreReadWhenItChanges) {
  const std::string forged = "def pytest_pyfunc_call(x): return True\n";
  Shadows shadows;
  shadows.targets.work_text = [&](const std::string& path) -> std::string {
    if (path == "conftest.py") return "pytest_plugins = ['tests.plugin']\n";
    return path == "tests/plugin.py" || path == "tests/other.py" ? forged : "";
  };
  add_folders_of_work(shadows);
  EXPECT_TRUE(shadowing_reads("tests/plugin.py", shadows.targets));
  EXPECT_TRUE(shadowing_reads("a/conftest.py", shadows.targets));
  EXPECT_FALSE(shadowing_reads("tests/other.py", shadows.targets));
  EXPECT_NE(shadowing(change_of("tests/plugin.py", forged), shadows), "");
  EXPECT_EQ(shadowing(change_of("tests/other.py", forged), shadows), "");
  shadows.allowed = {"tests/plugin.py"};
  EXPECT_EQ(shadowing(change_of("tests/plugin.py", forged), shadows), "");
}

}  // namespace
}  // namespace pawl::gates
