// What was accepted, file by file, and the evidence of it all.
#include <fmt/format.h>

#include <algorithm>

#include "cli/report/page.h"

namespace pawl::cli::page {
namespace {

constexpr std::size_t kProblemsMax = 100;
constexpr std::size_t kFilesOpenMax = 20;  // of more, a reader opens those that he wants

struct File {
  std::string path;
  std::vector<std::string_view> lines;
  std::size_t added = 0, removed = 0;
  bool binary = false;
};

// "diff --git a/x b/x": both names are the same but for renames, which say so in lines of their own.
std::string path_of(std::string_view heading) {
  const auto names = heading.substr(std::string_view("diff --git ").size());
  const auto second = names.rfind(" b/");
  return std::string(second == std::string_view::npos ? names : names.substr(second + 3));
}

// Content never begins a line: a patch has a space, a plus or a minus before it.
std::vector<File> files_of(std::string_view patch) {
  std::vector<File> out;
  bool in_hunk = false;
  while (!patch.empty()) {
    const auto end = std::min(patch.find('\n'), patch.size());
    const auto line = patch.substr(0, end);
    patch.remove_prefix(std::min(end + 1, patch.size()));
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
    // The first line is the summary's; of a binary there is nothing to read.
    if (!file.binary && !line.starts_with("diff --git ")) file.lines.push_back(line);
  }
  return out;
}

std::string_view kind_of(std::string_view line, bool in_hunk) {
  if (line.starts_with("@@")) return "hunk";
  if (!in_hunk) return "meta";
  return line.starts_with('+') ? "add" : line.starts_with('-') ? "del" : "same";
}

std::string file_part(const File& file, bool open, std::size_t& lines_left) {
  std::string out = fmt::format(
      "<details{}><summary><b>{}</b> <span class=\"good\">+{}</span> <span "
      "class=\"bad\">&minus;{}</span>{}</summary>\n",
      open ? " open" : "", escaped(file.path), file.added, file.removed, file.binary ? " binary" : "");
  out += "<pre class=\"diff\">";
  bool in_hunk = false;
  std::size_t shown = 0;
  for (const auto line : file.lines) {
    if (lines_left == 0) break;
    --lines_left;
    ++shown;
    in_hunk = in_hunk || line.starts_with("@@");
    const bool whole = line.size() <= kPatchLineBytesMax;
    out += fmt::format("<span class=\"{}\">{}{}\n</span>", kind_of(line, in_hunk),
                       escaped(line.substr(0, kPatchLineBytesMax)), whole ? "" : " …");
  }
  out += "</pre>";
  if (shown < file.lines.size())
    out += fmt::format("<p class=\"none\">{} more lines of this file are left out.</p>",
                       file.lines.size() - shown);
  return out + "</details>\n";
}

std::string fact(std::string_view word, const std::string& markup) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", word, markup);
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
  std::size_t lines = 0, lines_left = kPatchLinesMax, added = 0, removed = 0;
  std::string parts;
  for (const auto& file : files) {
    lines += file.lines.size();
    added += file.added;
    removed += file.removed;
    parts += file_part(file, files.size() <= kFilesOpenMax, lines_left);
  }
  out += fmt::format(
      "<p class=\"meta\">{} file{}, <span class=\"good\">+{}</span> <span "
      "class=\"bad\">&minus;{}</span></p>\n",
      files.size(), files.size() == 1 ? "" : "s", added, removed);
  if (lines > kPatchLinesMax)
    out += fmt::format(
        "<p class=\"none\">The first {} of {} lines are shown; <code>pawl diff {}</code> prints all.</p>\n",
        kPatchLinesMax, lines, run_id);
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
  out += "</dl>\n";
  if (!report.problems.empty()) out += problems(report);
  return out +
         fmt::format(
             "<p class=\"meta\">Checked at {}, when this page was made. Check again: <code>pawl verify {} "
             "--anchor {}</code></p>\n</section>\n",
             time_text(content.made_at), run_id, escaped(report.head));
}

}  // namespace pawl::cli::page
