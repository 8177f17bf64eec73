// The programs that a command starts in any case.
#include <gtest/gtest.h>

#include "plan/script.h"

namespace pawl::plan {
namespace {

using Names = std::vector<std::string>;

TEST(Programs, OfAnArgumentListAreItsFirstWord) {
  EXPECT_EQ(programs_of({"claude", "-p", "say make"}), Names{"claude"});
  EXPECT_EQ(programs_of({"/opt/a/tool"}), Names{"/opt/a/tool"});
  EXPECT_EQ(programs_of({"env", "A=1", "timeout", "60", "claude"}), Names{"claude"});
  EXPECT_EQ(programs_of({"sh", "-c", "one; two"}), (Names{"sh", "one", "two"}));
  EXPECT_EQ(programs_of({}), Names{});
}

TEST(Programs, OfAScriptAreThoseThatRunInAnyCase) {
  const std::vector<std::pair<const char*, Names>> cases = {
      {"npm ci && npm test || report", {"npm"}},
      {"a | b; c & { d; }; (e)", {"a", "b", "c", "d", "e"}},
      {"cd app && ./run", {"./run"}},
      {"x=$(git rev-parse HEAD); \"$TOOL\" y; ls *.c", {"git", "ls"}},
      {"bash -c 'one; two'", {"bash", "one", "two"}},
      {"if test -e a; then b; fi; while ask; do c; done", {"ask"}},
      {"command -v rg && rg x; [ -x /opt/a ] && /opt/a; grep -q x f && c", {"grep"}},
      {"for f in a b; do c; done; case x in x) d;; esac", {}},
      {"f() { x; }; f; y", {"y"}},
      {"true; exit 0; never", {}},
  };
  for (const auto& [script, names] : cases)
    for (const auto shell : {Shell::kSh, Shell::kBash, Shell::kBest})
      EXPECT_EQ(programs_of(script_argv(shell, script)), names) << script;
}

TEST(Programs, TheFirstOneIsThatWhichNothingCanHaveMade) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"/tmp/a --x", "/tmp/a"},
      {"env A=1 /tmp/a && b", "/tmp/a"},
      {"set -e; cd app && export X=1; /tmp/a | b", "/tmp/a"},
      {"{ /tmp/a; }; b", "/tmp/a"},
      {"(/tmp/a)", "/tmp/a"},
      {"make; /tmp/a", "make"},
      {"\"$TOOL\" y; /tmp/a", ""},
      {"printf x >/tmp/a; /tmp/a", ""},
      {"[ -x /tmp/a ] || make; /tmp/a", ""},
      {"/tmp/a $(make)", ""},
      {"if /tmp/a; then b; fi", ""},
      {"f() { make; }; f; /tmp/a", ""},
      {"eval x; /tmp/a", ""},
      {"", ""},
  };
  for (const auto& [script, name] : cases)
    EXPECT_EQ(first_program_of(script_argv(Shell::kSh, script)), name) << script;
  EXPECT_EQ(first_program_of({"env", "A=1", "/tmp/a"}), "/tmp/a");
  EXPECT_EQ(first_program_of({"sh", "-c", "/tmp/a"}), "sh");
  EXPECT_EQ(first_program_of({}), "");
}

TEST(Programs, AreNotKnownWhereNamesMayMeanOthers) {
  for (const char* script : {"PATH=/opt/x:$PATH make", "export PATH=\"$HOME/bin\"; make", "make; . ./env.sh",
                             "eval x; make", "if a; then source b; fi; make", "x=$(PATH=/y z); make"})
    EXPECT_EQ(programs_of(script_argv(Shell::kBest, script)), Names{}) << script;
}

}  // namespace
}  // namespace pawl::plan
