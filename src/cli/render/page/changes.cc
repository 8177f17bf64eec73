// The accepted changes, file by file, and the evidence for the run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/lines.h"
#include "cli/render/page/page.h"
#include "cli/render/words.h"

namespace pawl::cli::page {
namespace {

constexpr std::size_t kProblemsMax = 100;
constexpr std::size_t kFilesOpenMax = 20;  // with more files, each is closed until the reader opens it

struct File {
  std::string path;
  std::vector<std::string_view> lines;
  std::size_t added = 0, removed = 0;
  bool binary = false;
};

// "diff --git a/x b/x": split in the middle, because " b/" may be part of a name. A rename shows both names
// as they are.
std::string path_of(std::string_view heading) {
  const auto names = heading.substr(std::string_view("diff --git ").size());
  const auto half = names.size() / 2;
  if (names.size() < 5 || names[half] != ' ') return std::string(names);
  const auto before = names.substr(0, half), after = names.substr(half + 1);
  const bool same =
      before.starts_with("a/") && after.starts_with("b/") && before.substr(2) == after.substr(2);
  return std::string(same ? after.substr(2) : names);
}

bool is_name_or_hash(std::string_view line) {
  constexpr std::array<std::string_view, 4> kBeginnings = {"diff --git ", "index ", "--- ", "+++ "};
  return std::ranges::any_of(kBeginnings, [&](auto beginning) { return line.starts_with(beginning); });
}

// Content never begins a line: a patch has a space, a plus or a minus before it.
std::vector<File> files_of(std::string_view patch) {
  std::vector<File> out;
  bool in_hunk = false;
  for (const auto line : TextLines(patch)) {
    if (line.starts_with("diff --git ")) {
      out.push_back({.path = path_of(line)});
      in_hunk = false;
    }
    if (out.empty()) continue;
    auto& file = out.back();
    if (line == "GIT binary patch") file.binary = true;
    if (line.starts_with("@@")) in_hunk = true;
    if (in_hunk && line.starts_with('+')) ++file.added;
    if (in_hunk && line.starts_with('-')) ++file.removed;
    // The summary names the file. A binary file has no text to read.
    if (!file.binary && (in_hunk || !is_name_or_hash(line))) file.lines.push_back(line);
  }
  return out;
}

std::string_view kind_of(std::string_view line, bool in_hunk) {
  if (line.starts_with("@@")) return "hunk";
  if (!in_hunk) return "meta";
  return line.starts_with('+') ? "add" : line.starts_with('-') ? "del" : "same";
}

// The longest beginning of at most kPatchLineBytesMax bytes that ends between two characters.
std::string_view beginning_of(std::string_view line) {
  if (line.size() <= kPatchLineBytesMax) return line;
  std::size_t bytes = kPatchLineBytesMax;
  for (int back = 0; back < 3 && (static_cast<unsigned char>(line[bytes]) & 0xC0) == 0x80; ++back) --bytes;
  return line.substr(0, bytes);
}

std::string file_part(const File& file, bool open, std::size_t lines_shown) {
  std::string out = fmt::format(
      "<details{}><summary><b>{}</b> <span class=\"good\">+{}</span> <span "
      "class=\"bad\">&minus;{}</span>{}</summary>\n",
      open ? " open" : "", escaped(file.path), file.added, file.removed, file.binary ? " binary" : "");
  bool in_hunk = false;
  std::string lines;
  for (std::size_t i = 0; i < lines_shown; ++i) {
    const auto line = file.lines[i];
    in_hunk = in_hunk || line.starts_with("@@");
    const auto shown = beginning_of(line);
    lines += fmt::format("<span class=\"{}\">{}{}\n</span>", kind_of(line, in_hunk), escaped(shown),
                         shown.size() < line.size() ? " …" : "");
  }
  if (!lines.empty()) out += "<pre class=\"diff\">" + lines + "</pre>\n";
  if (lines_shown < file.lines.size())
    out += fmt::format("<p class=\"none\">{} more lines of this file are left out.</p>\n",
                       file.lines.size() - lines_shown);
  return out + "</details>\n";
}

std::string problems(const ledger::Report& report) {
  std::string out =
      "<div class=\"scroll\"><table>\n<thead><tr><th>Problem</th><th>File</th><th>Row</th><th>Detail</th>"
      "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(report.problems.size(), kProblemsMax); ++i) {
    const auto& problem = report.problems[i];
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", badge(problem.kind),
                       escaped(problem.file), problem.row, escaped(problem.detail));
  }
  out += "</tbody>\n</table></div>\n";
  if (report.problems.size() > kProblemsMax)
    out += fmt::format("<p class=\"none\">{} more problems are left out.</p>\n",
                       report.problems.size() - kProblemsMax);
  return out;
}

}  // namespace

std::string changes(const Content& content) {
  std::string out = "<section id=\"changes\">\n<h2>Changes that were accepted</h2>\n";
  const std::string& run_id = content.story.run.run_id;
  if (!content.patch_missing.empty())
    return out + fmt::format("<p class=\"none\">They can't be shown: {}</p>\n</section>\n",
                             escaped(content.patch_missing));
  const auto files = files_of(content.patch);
  if (files.empty())
    return out + "<p class=\"none\">Nothing was accepted that changes a file.</p>\n</section>\n";
  std::size_t left_out = 0, lines_left = kPatchLinesMax, added = 0, removed = 0;
  std::string parts;
  for (const auto& file : files) {
    const std::size_t shown = std::min({file.lines.size(), kFileLinesMax, lines_left});
    lines_left -= shown;
    left_out += file.lines.size() - shown;
    added += file.added;
    removed += file.removed;
    parts += file_part(file, files.size() <= kFilesOpenMax, shown);
  }
  out += fmt::format(
      "<p class=\"meta\">{} file{}, <span class=\"good\">+{}</span> <span "
      "class=\"bad\">&minus;{}</span></p>\n",
      files.size(), files.size() == 1 ? "" : "s", added, removed);
  if (left_out > 0)
    out += fmt::format("<p class=\"none\">{} lines are left out; <code>pawl diff {}</code> prints all.</p>\n",
                       left_out, run_id);
  return out + parts + "</section>\n";
}

std::string evidence(const Content& content) {
  const std::string& run_id = content.story.run.run_id;
  std::string out = "<section id=\"ledger\">\n<h2>Ledger ";
  if (!content.verified)
    return out + badge("not checked") +
           fmt::format("</h2>\n<p class=\"bad\">{}</p>\n</section>\n", escaped(content.verify_failed));
  const auto& report = *content.verified;
  out += badge(report.ok ? "verified" : "NOT verified") + "</h2>\n<dl class=\"facts wide\">\n";
  out += fact("Head", "<code>" + escaped(report.head) + "</code>");
  if (report.is_signed) out += fact("Signed by", "<code>" + escaped(report.public_key) + "</code>");
  out += fact("Rows", std::to_string(report.rows));
  if (report.unsigned_rows > 0)
    out += fact("Since the last signed head", fmt::format("{} rows: the run goes on", report.unsigned_rows));
  std::string lacks;
  for (const auto& lack : report.lacks) lacks += (lacks.empty() ? "" : "<br>") + escaped(lack_text(lack));
  if (!lacks.empty()) out += fact("Of an older version", lacks);
  out += "</dl>\n";
  if (!report.problems.empty()) out += problems(report);
  if (report.ok)
    out +=
        "<p class=\"meta\">That is: the rows are whole, and signed by this folder's key. The plan, states, "
        "causes, attempts, signals, episodes, steps that ended and decisions on this page are what the rows "
        "say. The changes are made of files, and the logs of steps that ended are bytes, whose hashes the "
        "rows have; a log of more than 64 MiB is not read whole. It does not cover where plan and source "
        "lie, "
        "when the run began and ended, budgets, the number of attempts that are allowed, and what goes "
        "on.</p>\n";
  return out +
         fmt::format(
             "<p class=\"meta\">Checked at {}, when this page was made. Check again: <code>pawl verify {} "
             "--anchor {}</code></p>\n</section>\n",
             time_text(content.made_at), run_id, escaped(report.head));
}

}  // namespace pawl::cli::page
