// Line ends and ids of random texts: git itself is the reference for the committed form.
#include <iterator>
#include <random>

#include "workspace/commits.h"

namespace pawl::workspace {
namespace {

// Texts of the bytes that decide whether git takes a file for a text, and for an id. Some are longer than a
// piece in which files are read.
std::string random_text(std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return random() % bound; };
  static const std::vector<std::string> kUsual = {"\r\n", "\r\n",    "\r\n", "\n",
                                                  "text", "$Id: x$", "$Id",  "$Id:"};
  static const std::vector<std::string> kRare = {
      "\r",  std::string(1, '\0'), "\v", "\x1a", "\x7f", "\b", "\f", "\x1b", "\x01", "\xff", "$", "\r\r\n",
      "$Id$"};
  std::string out = std::to_string(random()) + (below(3) == 0 ? "" : std::string(below(400), 'p'));
  for (auto left = below(12); left > 0; --left) {
    if (below(90) == 0) out.resize((64U << 10) * (1 + below(2)) - below(6), below(3) == 0 ? '\v' : 'a');
    const auto& from = below(6) == 0 ? kRare : kUsual;
    out += from[below(from.size())];
  }
  return out;
}

class TextsTest : public CommitsTest {};

TEST_F(TextsTest, AreCommittedAsGitAddMakesThem) {
  constexpr int kFiles = 60;
  std::mt19937 random(41);
  const auto write_all = [&] {
    sh("rm -rf " + (temp_ / "texts") + " && mkdir " + (temp_ / "texts"));
    for (int i = 0; i < kFiles; ++i)
      ASSERT_TRUE(os::write_atomically(temp_ / ("texts/" + std::to_string(i)), random_text(random)));
  };
  write_all();
  // git converts this file as well under some rules, though no step changes it.
  git("git rm -q binary && cp ../texts/[1-3]? ../texts/? . && git -c core.autocrlf=false add -A && git "
      "commit -q -m texts");
  // Three values of core.autocrlf take turns. They count where no attribute says it.
  const char* const configurations[] = {"true", "Input", "false"};
  std::size_t turn = 0;
  for (const std::string rule : {"",
                                 "",
                                 "",
                                 "* ident",
                                 "* ident",
                                 "* text=auto",
                                 "* text=auto eol=crlf",
                                 "* text",
                                 "* -text",
                                 "* eol=lf",
                                 "* crlf",
                                 "* -crlf eol=lf",
                                 "* crlf=input",
                                 "* crlf=auto",
                                 "* text=input",
                                 "* text=other crlf",
                                 "* eol=other",
                                 "* binary",
                                 "* text=auto ident",
                                 "* text ident",
                                 "* -text ident"}) {
    const std::string configured = configurations[turn++ % std::size(configurations)];
    SCOPED_TRACE(rule + " " + configured);
    // Under the rule of the last turn git could check out other bytes than the committed ones.
    git("rm -f .git/info/attributes && git config core.autocrlf false && git reset -q --hard && echo '" +
        rule + "' > .git/info/attributes && git config core.autocrlf " + configured);
    take_folder();
    write_all();
    const std::string script = "cp " + (temp_ / "texts") + "/* .";
    const auto made = applied(layer(script));
    ASSERT_NE(made, "") << refusal_;
    const auto expected = git("rm -rf ../by-git && cp -a . ../by-git && cd ../by-git && " + script +
                              " && git add -A 2>/dev/null && git write-tree");
    EXPECT_EQ(tree_of(made), expected)
        << git("cd ../by-git && git diff --name-only " + made + " " + expected);
    git("git branch -D -q $(git branch --list 'pawl/*')");
  }
}

}  // namespace
}  // namespace pawl::workspace
