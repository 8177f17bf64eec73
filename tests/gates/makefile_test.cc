// Files beside a Makefile that decide what make runs: those that it includes, and those of a target's name.
#include "gates/policy/makefile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using Files = std::map<std::string, std::string>;

Shadows shadows_of(const std::string& command, const Files& base, const Files& work) {
  Shadows out{.was_there = [base](const std::string& path) { return base.contains(path); }};
  const std::vector<std::string> argv{"sh", "-e", "-c", command};
  out.folders.add(argv);
  out.targets.add(argv);
  out.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  const auto text_in = [](const Files& files) {
    return [files](const std::string& path) { return files.contains(path) ? files.at(path) : ""; };
  };
  out.targets.read_makefiles(out.folders.modules, text_in(base));
  out.targets.read_work(text_in(base), text_in(work));
  return out;
}

std::string words_for(const std::string& command, const Files& base, const std::string& path,
                      const std::string& after = "x\n") {
  FileChange change{.path = path, .after = FileVersion{.content = after}};
  if (base.contains(path)) change.before = FileVersion{.content = base.at(path)};
  auto work = base;
  work[path] = after;
  return shadowing(change, shadows_of(command, base, work));
}

// The effect on a gate's command of files that differ from base's.
std::string words_of(const Files& base, const Files& changed, const std::string& command = "make test") {
  auto work = base;
  for (const auto& [path, text] : changed) work[path] = text;
  const auto shadows = shadows_of(command, base, work);
  std::string out;
  for (const auto& [path, text] : changed) {
    FileChange change{.path = path, .after = FileVersion{.content = work.at(path)}};
    if (base.contains(path)) change.before = FileVersion{.content = base.at(path)};
    if (const auto words = shadowing(change, shadows); !words.empty()) out += path + ": " + words + "\n";
  }
  return out;
}

TEST(Makefiles, ACommandOfManyOpenVariablesIsReadInLinearTime) {
  for (const char* part : {"$(", "$(shell ", "$(shell which x ", "$$", "$(A "}) {
    std::string line = "echo ";
    while (line.size() < std::size_t{1} << 20) line += part;
    EXPECT_GT(command_of(line).text.size(), line.size() / 4) << part;
    EXPECT_GT(command_of(line + ")").text.size(), line.size() / 4) << part;
  }
  EXPECT_EQ(command_of("-@$(CC) -o $$x $(shell command -v python3) $(A b) $(Q)y").text,
            "CC -o $x python3 $(A b) Qy");
}

TEST(Makefiles, AFileOfATargetsNameHasMakeRunNothing) {
  const auto adds = [](const std::string& makefile, const std::string& path,
                       const std::string& command = "make test") {
    return words_for(command, {{"Makefile", makefile}, {"lib/Makefile", makefile}}, path);
  };
  const std::string plain = "test:\n\tsh t/run.sh\n";
  EXPECT_THAT(adds(plain, "test"), HasSubstr("take target `test` for made"));
  EXPECT_NE(adds(plain, "test/x"), "") << "a folder";
  EXPECT_NE(adds(plain, "lib/test", "make -C lib test"), "");
  EXPECT_NE(adds(plain, "lib/test", "cd lib && make test"), "");
  EXPECT_NE(adds(plain, "test", "make"), "") << "the first target";
  EXPECT_NE(adds("check: test\n" + plain, "test", "make check"), "") << "what a target stands for";
  EXPECT_NE(adds("test: FORCE\n\tsh t.sh\nFORCE:\n", "FORCE"), "");
  EXPECT_NE(adds(".PHONY: all\n" + plain, "test"), "");
  EXPECT_NE(adds("test:\n\t@echo $@\n\t$(MAKE) -C t $@\n", "test"), "");
}

TEST(Makefiles, FilesThatMakeDoesNotTakeForATargetAreNone) {
  const std::string plain = "test:\n\tsh t/run.sh\nlint:\n\tsh l.sh\n";
  const std::pair<std::string, std::string> good[] = {
      {plain, "tests/a"},
      {plain, "src/test"},
      {plain, "lint"},
      {".PHONY: test\n" + plain, "test"},
      {"TARGETS = test lint\n.PHONY: $(TARGETS)\n" + plain, "test/x"},
      {"test: FORCE\n\tsh t.sh\nFORCE:\n", "test"},
      {"test: app\napp: a.c\n\t$(CC) -o $@ $<\n", "app"},
      {"test: out\nout:\n\tmkdir -p out\n", "out/x"},
      {"test: log\nlog:\n\tsh t.sh >log\n", "log"},
      {"test: a.o\n\tsh t.sh\n", "a.o"}};
  for (const auto& [makefile, path] : good)
    EXPECT_EQ(words_for("make test", {{"Makefile", makefile}}, path), "") << makefile << path;
  EXPECT_EQ(words_for("sh t.sh", {{"Makefile", plain}}, "test"), "") << "no gate runs make";
  EXPECT_EQ(words_for("make test", {{"Makefile", plain}, {"test", "x"}}, "test"), "") << "base has it";
  EXPECT_EQ(words_for("make test", {{"Makefile", plain}, {"test", ""}}, "test/more"), "");
}

constexpr const char* kIncluding =
    "include config.mk\nDIR = build\nCHECK = sh t/run.sh\ntest: unit\n\t$(CHECK)\nunit:\n\tsh u.sh\n"
    "-include local.make\nsinclude $(DIR)/*.inc $(wildcard conf/*.make)\n-include *.d\n";

std::string includes(const std::string& path, const std::string& text,
                     const std::string& command = "make test") {
  return words_for(command, {{"Makefile", kIncluding}, {"config.mk", "V = 1\ninclude deep.make\n"}}, path,
                   text);
}

TEST(Makefiles, AnIncludedFileIsReadLikeTheMakefile) {
  EXPECT_THAT(includes("local.make", "test:\n\ttrue\n"),
              HasSubstr("`test`, which a gate runs, gets a second"));
  for (const auto* path : {"local.make", "config.mk", "deep.make", "build/a.inc", "conf/b.make"})
    for (const auto* text :
         {"unit:\n\tsh other.sh\n", "SHELL = /bin/true\n", "MAKEFLAGS += -n\n", "MAKEFLAGS = --touch\n",
          "MAKEFLAGS += -i\n", ".SHELLFLAGS = -n -c\n", ".IGNORE:\n"})
      EXPECT_NE(includes(path, text), "") << path << ": " << text;
  for (const auto* path : {"local.make", "build/a.inc", "conf/b.make"})
    EXPECT_NE(includes(path, "CHECK = true\n"), "") << path << " comes behind the value";
  EXPECT_NE(includes("config.mk", "help:\n\techo help\n", "make"), "") << "it is the first target now";
  const FileChange link{.path = "local.make", .after = FileVersion{.is_link = true, .content = "x"}};
  EXPECT_NE(shadowing(link, shadows_of("make test", {{"Makefile", kIncluding}}, {{"Makefile", kIncluding}})),
            "");
  EXPECT_NE(words_for("make -f ci.make test", {{"ci.make", "-include x\ntest:\n\tsh t.sh\n"}}, "x",
                      "test:\n\ttrue\n"),
            "");
}

TEST(Makefiles, HonestIncludedFilesAreNone) {
  for (const auto* text : {"CFLAGS = -O2\n", "more:\n\tsh more.sh\n", "a.o: a.c a.h\n", "test: more\n",
                           "SHELL = /bin/bash\n", "MAKEFLAGS += -rR\n", "CHECK = bash t/run.sh\n", ""})
    for (const auto* path : {"local.make", "config.mk", "build/a.inc", "a.d"})
      EXPECT_EQ(includes(path, text), "") << path << ": " << text;
  EXPECT_EQ(includes("other.make", "test:\n\ttrue\n"), "") << "nothing includes it";
  EXPECT_EQ(includes("local.make", "test:\n\ttrue\n", "sh t.sh"), "") << "no gate runs make";
  EXPECT_TRUE(
      may_have_targets("local.make", shadows_of("make test", {{"Makefile", kIncluding}}, {}).targets));
  const Files own{{"Makefile", "include own.make\n"}, {"own.make", "test:\n\tsh t.sh\n"}};
  EXPECT_EQ(words_for("make test", own, "own.make", "test:\n\tsh t.sh\n\tsh more.sh\n"), "");
  EXPECT_NE(words_for("make test", own, "own.make", "test:\n\t-sh t.sh\n"), "");
}

constexpr const char* kPlain =
    "CHECK = sh t/run.sh\n.PHONY: test\ntest: unit\n\t$(CHECK)\nunit:\n\tsh u.sh\nclean:\n\trm -f out\n";

std::string changed(const std::string& from, const std::string& to,
                    const std::string& command = "make test") {
  std::string after = kPlain;
  after.replace(after.find(from), from.size(), to);
  return words_of({{"Makefile", kPlain}}, {{"Makefile", after}}, command);
}
std::string appended(const std::string& text) {
  return words_of({{"Makefile", kPlain}}, {{"Makefile", kPlain + text}});
}

TEST(Makefiles, ARuleThatIsGoneOrDefinedTwiceIsWeaker) {
  for (const auto* text :
       {"test:\n\t@echo ok\n", "test:\n\tsh other.sh\n", "test: ; @echo ok\n", "test: ;\n", "test:\n\t\n",
        "T = test\n$(T):\n\t@true\n", "${T}: ; true\nT = test\ntest:\n\ttrue\n", "unit:\n\t@true\n",
        "define RULE\ntest: ; @true\nendef\n$(RULE)\n", "$(eval test: ; @true)\n",
        "ifndef X\ntest:\n\t@true\nendif\n", "$(subst x,,xtest): ; @true\n", "load ./x.so\n"})
    EXPECT_NE(appended(text), "") << text;
  for (const auto* to : {"te%: unit", ".DEFAULT:", "other:", "test%:", "tests:"})
    EXPECT_THAT(changed("test: unit", to), HasSubstr("has no rule any more")) << to;
  EXPECT_NE(changed("test: unit\n\t$(CHECK)\n", ""), "") << "only .PHONY is left";
  EXPECT_NE(changed("unit:\n\tsh u.sh\n", ""), "") << "a target that another one needs";
  EXPECT_NE(words_of({{"Makefile", kPlain}}, {{"Makefile", ""}}), "") << "nothing is left";
  FileChange deleted{.path = "Makefile", .before = FileVersion{.content = kPlain}};
  EXPECT_NE(shadowing(deleted, shadows_of("make test", {{"Makefile", kPlain}}, {})), "");
}

TEST(Makefiles, ATargetThatRunsItsCommandsNoMoreIsWeaker) {
  const std::pair<const char*, const char*> bad[] = {{"\t$(CHECK)\n", "\tls\n"},
                                                     {"\t$(CHECK)\n", "\t@/bin/true\n"},
                                                     {"\t$(CHECK)\n", "\t@mkdir -p out; date\n"},
                                                     {"\t$(CHECK)\n", "\tsh -c 'true'\n"},
                                                     {"\t$(CHECK)\n", "\tif true; then :; fi\n"},
                                                     {"\t$(CHECK)\n", "\t$(NOTHING)\n"},
                                                     {"\t$(CHECK)\n", "\t$(info all is well)\n"},
                                                     {"\t$(CHECK)\n", ""},
                                                     {"CHECK = sh t/run.sh", "CHECK ="},
                                                     {"CHECK = sh t/run.sh", "define CHECK\ntrue\nendef"},
                                                     {"CHECK = sh t/run.sh\n", ""},
                                                     {"\tsh u.sh\n", "\t@echo ok\n"},
                                                     {"test: unit", "test: # unit"},
                                                     {"test: unit", "test:"},
                                                     {".PHONY: test\n", ""},
                                                     {".PHONY: test", ".PHONY: clean"},
                                                     {"CHECK =", "all:\n\t@true\nCHECK ="}};
  for (const auto& [from, to] : bad)
    EXPECT_NE(changed(from, to, std::string(to).starts_with("all") ? "make" : "make test"), "") << from << to;
  EXPECT_NE(appended("undefine CHECK\n"), "");
  for (const auto* text : {"test: CHECK = true\n", "t%: CHECK = true\n", "all: CHECK = true\nall: test\n"})
    EXPECT_NE(words_of({{"Makefile", kPlain}}, {{"Makefile", kPlain + std::string(text)}}, "make test all"),
              "")
        << text;
  const std::string of_need = "SH = sh\ntest: unit\nunit:\n\t$(SH) t.sh\n";
  EXPECT_NE(words_of({{"Makefile", of_need}}, {{"Makefile", of_need + "test: SH = true\n"}}), "")
      << "inherited";
  EXPECT_EQ(words_of({{"Makefile", of_need}}, {{"Makefile", of_need + "lint: SH = true\n"}}), "");
  EXPECT_NE(changed("CHECK =", ".DEFAULT_GOAL := clean\nCHECK =", "make"), "");
  EXPECT_EQ(appended(".DEFAULT_GOAL := clean\n"), "") << "`make test` asks for a target";
}

TEST(Makefiles, ATestRunnerStaysOne) {
  const auto runs = [](const std::string& before, const std::string& after) {
    return words_of({{"Makefile", "test:\n\t" + before + "\n"}}, {{"Makefile", "test:\n\t" + after + "\n"}});
  };
  for (const auto* before :
       {"python3 -m pytest -q", "go test ./...", "cargo test", "@prove -r t", "npx jest"})
    for (const auto* after :
         {"python3 fake.py", "sh fake.sh", "ruff check .", "go build ./...", "cargo check", "git status"})
      EXPECT_THAT(runs(before, after), HasSubstr("does not run")) << before << " " << after;
  for (const auto* after : {"pytest -q --durations=3", "cd a && python3 -m pytest", "tox -q",
                            "$(MAKE) -C t check", "for t in a b; do pytest $$t || exit 1; done"})
    EXPECT_EQ(runs("python3 -m pytest -q", after), "") << after;
  EXPECT_EQ(runs("sh t.sh", "sh tests/all.sh"), "") << "a program of the workspace may be another one";
}

TEST(Makefiles, AShellOrFlagsOfOneTargetCountToo) {
  for (const auto* text : {"test: SHELL := /bin/true\n",
                           "test: .SHELLFLAGS = -n -c\n",
                           "test: private SHELL = ./sh\n",
                           "unit: override SHELL=true\n",
                           "te%: SHELL = /bin/true\n",
                           "%: MAKEFLAGS += -i\n",
                           "define SHELL\n/bin/true\nendef\n",
                           "SHELL = /bin/true # sh\n",
                           "SHELL = /bin/true bash\n",
                           "SHELL = ./bash\n",
                           "SHELL = /workspace/sh\n",
                           "N = SHELL\n$(N) = true\n",
                           "SHELL = $(shell pwd)/sh\n",
                           "SHELL = bash -n\n",
                           ".SHELLFLAGS = -c true\n",
                           ".SHELLFLAGS = -nc\n",
                           "MAKEFLAGS += -ij4\n",
                           "MAKEFLAGS = i\n",
                           "MAKEFLAGS += --ignore-err\n",
                           "MAKEFLAGS += -q\n",
                           "export MAKEFLAGS += --dry\n",
                           "X = 1\n\tMAKEFLAGS += -i\n",
                           "MAKEFLAGS += -o test\n"})
    EXPECT_NE(appended(text), "") << text;
  EXPECT_NE(words_of({{"Makefile", "test:\n\tsh a.sh\n\tsh b.sh\n"}},
                     {{"Makefile", ".ONESHELL:\ntest:\n\tsh a.sh\n\tsh b.sh\n"}}),
            "");
  const std::string one = ".ONESHELL:\ntest:\n\tsh a.sh\n\tsh b.sh\n", stops = ".SHELLFLAGS = -ec\n" + one;
  EXPECT_NE(words_of({{"Makefile", one}}, {{"Makefile", one + "\ttrue\n"}}), "");
  EXPECT_NE(words_of({{"Makefile", stops}}, {{"Makefile", one}}), "");
  EXPECT_EQ(words_of({{"Makefile", "test:\n\tsh a.sh\n\tsh b.sh\n"}}, {{"Makefile", stops}}), "");
  for (const auto* text :
       {"clean: SHELL := /usr/bin/python3\n", "SHELL := $(shell which bash)\n",
        "SHELL := $(shell command -v bash || command -v sh)\n", "SHELL = bash -eo pipefail\n",
        "test: CFLAGS += -g\n", "MAKEFLAGS += -Oline -j4 --no-print-directory\n"})
    EXPECT_EQ(appended(text), "") << text;
}

TEST(Makefiles, ACommandUnderAConditionMayNotRun) {
  for (const auto& [before, behind] : std::initializer_list<std::pair<const char*, const char*>>{
           {"ifdef NOPE\n", "endif\n"},
           {"ifeq ($(X),y)\n", "else\n\t@echo skipped\nendif\n"},
           {"ifdef A\nifdef B\n", "endif\nendif\n"},
           {"ifdef A\n", "else ifdef B\n\tsh b.sh\nendif\n"}}) {
    const auto around = [&, b = before, e = behind](const std::string& lines) {
      return changed(lines, b + lines + e);
    };
    EXPECT_NE(around("\t$(CHECK)\n"), "") << before;
    EXPECT_NE(around("\tsh u.sh\n"), "") << before;
  }
  EXPECT_NE(changed("unit:\n\tsh u.sh\n", "ifdef NOPE\nunit:\n\tsh u.sh\nendif\n"), "");
  EXPECT_NE(changed("test: unit\n", "ifdef NOPE\ntest: unit\nendif\ntest:\n"), "");
  for (const auto* to :
       {"ifdef V\n\tsh -x t.sh\nelse\n\t$(CHECK)\nendif\n", "\t$(CHECK)\nifdef V\n\techo\nendif\n",
        "ifdef V\n\tsh a.sh\nelse ifdef W\n\tsh b.sh\nelse\n\t$(CHECK)\nendif\n"})
    EXPECT_EQ(changed("\t$(CHECK)\n", to), "") << to;
  EXPECT_EQ(
      changed("CHECK = sh t/run.sh\n", "ifdef V\nCHECK = sh -x t/run.sh\nelse\nCHECK = sh t/run.sh\nendif\n"),
      "");
}

TEST(Makefiles, AFileThatTheWorkIncludesCountsToo) {
  for (const auto* include : {"include ok.inc\n", "-include ok.inc\n", "X = ok\nsinclude $(X).inc\n",
                              "include *.inc\n", "include $(wildcard *.inc)\n", "include mid.inc\n"}) {
    const auto by = [&](const std::string& text) {
      return words_of(
          {{"Makefile", kPlain}},
          {{"Makefile", kPlain + std::string(include)}, {"ok.inc", text}, {"mid.inc", "include ok.inc\n"}});
    };
    for (const auto* text :
         {"MAKEFLAGS += -i\n", "test:\n\t@true\n", "CHECK = true\n", "SHELL = /bin/true\n"})
      EXPECT_NE(by(text), "") << include << text;
    for (const auto* text : {"CFLAGS = -O2\n", "more:\n\tsh more.sh\n", ""})
      EXPECT_EQ(by(text), "") << include << text;
  }
  EXPECT_NE(appended("include $(shell echo ok.inc)\n"), "") << "a name that is unknown";
  EXPECT_EQ(appended("-include $(OBJS:.o=.d)\n"), "") << "what a compiler writes";
  EXPECT_NE(words_of({{"Makefile", kPlain}}, {{"Makefile", kPlain + std::string("-include $(O:.o=.d)\n")},
                                              {"x.d", "MAKEFLAGS += -i\n"}}),
            "");
  const Files moved{{"Makefile", "CHECK = sh t/run.sh\n.PHONY: test\ninclude mk/test.inc\n"},
                    {"mk/test.inc", "test: unit\n\t$(CHECK)\nunit:\n\tsh u.sh\n"}};
  EXPECT_EQ(words_of({{"Makefile", kPlain}}, moved), "") << "the rules are in another file now";
}

TEST(Makefiles, AMakefileOfAnotherNameIsReadWhereACommandNamesIt) {
  for (const auto* command :
       {"make -f ci.make test", "make --file=ci.make test", "make -fci.make test",
        "make --makefile ci.make test", "cd sub && make -f ../ci.make test", "make -f ./ci.make test"})
    EXPECT_NE(words_of({{"ci.make", kPlain}, {"Makefile", "test:\n\tsh t.sh\n"}},
                       {{"ci.make", kPlain + std::string("test:\n\t@true\n")}}, command),
              "")
        << command;
  EXPECT_EQ(words_of({{"ci.make", kPlain}}, {{"ci.make", "test:\n\t@true\n"}}), "") << "no command names it";
  const std::string by_automake = "check:\n\tsh @srcdir@/t.sh\n";
  EXPECT_NE(words_of({{"Makefile.in", by_automake}}, {{"Makefile.in", by_automake + "check:\n\t@true\n"}},
                     "./configure && make check"),
            "");
}

TEST(Makefiles, HonestWorkOnAMakefileIsNone) {
  const std::pair<const char*, const char*> good[] = {
      {"\t$(CHECK)\n", "\t$(CHECK)\n\tsh more.sh\n"},
      {"\t$(CHECK)\n", "\t@echo start\n\t$(CHECK)\n\t@echo done\n"},
      {"\t$(CHECK)\n", "\t$(CHECK) --all\n"},
      {"\t$(CHECK)\n", "\t@mkdir -p out\n\t$(CHECK) >out/log\n"},
      {"\t$(CHECK)\n", "\tsh t/run.sh\n"},
      {"test: unit", "test: unit lint"},
      {"test: unit", "test: build unit"},
      {"test: unit", "test : unit  # all of it"},
      {".PHONY: test", ".PHONY: test unit clean"},
      {"test: unit\n", "test: checks\nchecks: unit\n"},
      {"\tsh u.sh\n", "\tpython3 -m pytest tests\n"},
      {"CHECK = sh t/run.sh", "CHECK := sh t/run.sh\nCFLAGS ?= -O2\nexport LANG = C"},
      {"clean:\n\trm -f out\n", ""},
      {"clean:\n\trm -f out\n", "distclean clean:\n\trm -rf out build\n"},
      {"unit:\n\tsh u.sh\n", "unit: u1 u2\nu%: u%.sh\n\tsh $<\nu1 u2:\n\tsh $@.sh\n"},
      {"unit:\n\tsh u.sh\n", "ifneq ($(OS),x)\nEXE =\nendif\nunit:\n\tsh u.sh\n"}};
  for (const auto& [from, to] : good) EXPECT_EQ(changed(from, to), "") << from << to;
  for (const auto* text :
       {"lint:\n\truff check\n", "help: ## Shows the targets\n\t@grep '##' Makefile\n",
        "test: more\nmore:\n\tsh more.sh\n", "%.o: %.c\n\t$(CC) -c -o $@ $<\n",
        "$(BUILD)/app: app.c\n\tcc -o $@ $<\n", "$(OBJS:.c=.o): app.h\n", "$(info hello)\n", "\n\n# words\n"})
    EXPECT_EQ(appended(text), "") << text;
}

}  // namespace
}  // namespace pawl::gates
