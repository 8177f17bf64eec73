// Scripts that can pass without running a test.
#include "plan/no_tests.h"

#include <gtest/gtest.h>

#include "plan/script.h"

namespace pawl::plan {
namespace {

std::size_t reasons(const std::string& script) {
  return reasons_to_run_nothing(script_argv(Shell::kBest, script)).size();
}

std::size_t listings(const std::vector<std::string>& scripts) {
  std::vector<std::vector<std::string>> steps;
  for (const auto& script : scripts) steps.push_back(script_argv(Shell::kBest, script));
  return runners_that_only_list(steps).size();
}

TEST(NoTests, ARunnerThatOnlyListsIsTold) {
  for (const char* script :
       {"pytest --co -q", "python3 -m pytest --collect-only", "timeout 60 pytest --setup-only tests",
        "go test -run NONE ./...", "go test -run=NONE ./...", "go test -list . ./...", "cargo test -- --list",
        "prove --dry t", "cd app && npx jest --listTests", "ruff . && pytest --setup-plan"})
    EXPECT_EQ(listings({script}), 1U) << script;
  EXPECT_EQ(runners_that_only_list({{"pytest", "--co"}}).size(), 1U);
  EXPECT_EQ(listings({"pytest --co", "pytest --collect-only -q"}), 1U);
}

TEST(NoTests, ARunnerThatRunsAndAListBesideItAreFine) {
  for (const char* script :
       {"pytest", "pytest --co -q\npytest", "pytest -q && pytest --fixtures", "go test -run TestA ./...",
        "go vet ./... && go test ./...", "cargo test --list-nothing", "prove -r t", "echo pytest --co",
        "go list ./...", "pytest -k collect-only", "cargo build --list && cargo test"})
    EXPECT_EQ(listings({script}), 0U) << script;
  EXPECT_EQ(listings({"pytest --co", "if pytest -q; then exit 1; fi"}), 0U)
      << "another step of the gate runs them";
}

TEST(NoTests, AnExitBeforeTheCommandIsTold) {
  for (const char* script : {"exit 0; make test", "echo hi\nexit\nmake test", "exit 0\nmake test"})
    EXPECT_EQ(reasons(script), 1U) << script;
  for (const char* script :
       {"make test; exit 0", "exit 1; make test", "make test\nexit 0\necho done",
        "if x; then exit 0; fi; make test", "f() { exit 0; }; make test", "[ -e skip ] && exit 0; make test"})
    EXPECT_EQ(reasons(script), 0U) << script;
}

TEST(NoTests, CommandsThatAllStandBehindAQuestionAreTold) {
  for (const char* script : {"[ -d tests ] && make test; true", "test -e a && ./a\n:\n",
                             "[ -d t ] && prove t; [ -d tests ] && pytest; echo ok"})
    EXPECT_EQ(reasons(script), 1U) << script;
  for (const char* script : {"[ -d tests ] && make test", "[ -f .env ] && . ./.env; make test",
                             "make; [ -d tests ] && make test; true", "make && make test; true",
                             "[ -z \"$CI\" ] && echo local; make test"})
    EXPECT_EQ(reasons(script), 0U) << script;
}

std::string why(const std::string& script) { return why_a_failure_hides_others({"sh", "-e", "-c", script}); }

TEST(BehindTests, ACommandBehindTestsIsNamed) {
  for (const auto& [script, program] : std::initializer_list<std::pair<const char*, const char*>>{
           {"python3 -m pytest -q one\nsh e2e.sh\n", "`sh`"},
           {"pytest one && pytest two", "`pytest`"},
           {"(cd one && pytest -q)\n(cd two && pytest -q)\n", "`pytest`"},
           {"npm ci\nnpm test\nnpm run lint", "`npm`"},
           {"go test -json ./... > out.json; go vet ./...", "`go`"},
           {"cargo test 2>&1 | tee out.txt\ncargo clippy", "`cargo`"},
           {"set +x\npytest one\npytest two", "`pytest`"},
           {"make -k check\n./e2e", "`./e2e`"}})
    EXPECT_EQ(why(script), std::string(program) +
                               " behind the tests does not run when one of them fails; give it a step "
                               "of its own")
        << script;
  for (const auto* make : {"make test", "make check", "cd x && make -C y test"})
    EXPECT_NE(why(make).find("run `make -k`"), std::string::npos) << make;
  EXPECT_NE(why_a_failure_hides_others({"make", "test"}), "");
  EXPECT_NE(why("for d in one two; do pytest $d; done").find("ends the loop"), std::string::npos);
}

TEST(BehindTests, TestsThatAreTheLastCommandAreNot) {
  for (const char* script :
       {"pytest -q --junitxml=r.xml", "npm ci\nnpm test", "cargo test 2>&1 | tee out.txt", "cd one && pytest",
        "cp -r test tests; pytest", "make && make -k test", "make -sk check", "make --keep-going test",
        "set +e\npytest a\nr=$?\npytest b || r=$?\nexit $r",
        "pytest a || bad=1\npytest b || bad=1\n[ -z \"$bad\" ]", "test -d x && pytest", "pytest; echo done",
        "go build ./..."})
    EXPECT_EQ(why(script), "") << script;
  EXPECT_EQ(why_not_all_runs({"pytest", "one", "&&", "two"}), "");
}

}  // namespace
}  // namespace pawl::plan
