#include "workspace/git/patch_text.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/json.h"
#include "base/policy.h"
#include "os/file.h"
#include "workspace/git/sha256.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

// The limit for comparing a file by lines, which takes many times that memory.
constexpr std::uint64_t kTextBytesMax = 64ULL << 20;

// A name as git-diff(1) quotes it. UTF-8 stays unquoted: git reads both forms, people only that one.
std::string quoted(const std::string& name) {
  const bool plain = std::ranges::none_of(
      name, [](unsigned char c) { return c < 0x20 || c == 0x7F || c == '"' || c == '\\'; });
  const bool utf8 = valid_utf8(name) == name;
  // After a space git searches the second name of the line, and gives up at a slash.
  const bool split = name.find(" /") != std::string::npos || name.ends_with(' ');
  if (plain && utf8 && !split) return name;
  std::string out = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !utf8))
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + "\"";
}

// On its own line, a name with a space ends with a tab. Otherwise git takes the text after it for a date.
std::string named_line(const char* sign, const std::string& name) {
  const std::string text = quoted(name);
  const bool spaced = !text.starts_with('"') && text.find(' ') != std::string::npos;
  return sign + text + (spaced ? "\t\n" : "\n");
}

struct Read {
  std::optional<GitFile> file;
  std::uint64_t size = 0;
  std::string id;     // The id that git gives the content.
  std::string bytes;  // Only when bounded.
  bool bounded = true;
};

Result<Read> read_side(const PatchSide& side) {
  Read out{.file = side.file};
  if (!side.file) return out;
  struct stat status {};
  if (lstat(side.file->full.c_str(), &status) != 0) return fail_errno(errno, "changed file", side.file->full);
  out.size = static_cast<std::uint64_t>(status.st_size);
  out.bounded = out.size <= kPatchedFileBytesMax;
  return out;
}

// The name of the content in a SHA-256 repository; compare blob_id().
Result<std::string> sha256_name(const GitFile& file, std::uint64_t size) {
  std::unique_ptr<ByteSource> source = os::file_source(file.full, kTreeBytesMax);
  if (file.is_link) {
    PAWL_TRY(auto target, target_of_link(file.full));
    size = target.size();
    source = std::make_unique<MemorySource>(std::move(target));
  }
  Sha256 hash;
  hash.add(fmt::format("blob {}", size) + '\0');
  for (;;) {
    PAWL_TRY(const auto piece, source->next());
    if (piece.empty()) return hash.hex();
    hash.add(piece);
  }
}

Status identify(Read& side, bool sha256_ids) {
  if (!side.file) {
    side.id = std::string(sha256_ids ? kHashHexSize : GIT_OID_HEXSZ, '0');
  } else if (sha256_ids) {
    PAWL_TRY(side.id, sha256_name(*side.file, side.size));
  } else {
    PAWL_TRY(const git_oid id, blob_id(*side.file));
    side.id = text_of(id);
  }
  return {};
}

Status load(Read& side) {
  if (!side.file || !side.bounded) return {};
  if (side.file->is_link) {
    PAWL_TRY(side.bytes, target_of_link(side.file->full));
  } else {
    PAWL_TRY(side.bytes, os::read_file(side.file->full, kPatchedFileBytesMax));
  }
  return {};
}

std::string mode_text(const GitFile& file) {
  return fmt::format("{:o}", static_cast<unsigned>(mode_of(file)));
}

// --- binary

constexpr std::string_view kDigits85 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
constexpr std::size_t kLineBytes = 52;  // Data bytes in a line of a binary patch.

void add_base85(std::string_view bytes, std::string& out) {
  for (std::size_t at = 0; at < bytes.size(); at += kLineBytes) {
    const auto line = bytes.substr(at, kLineBytes);
    const auto size = static_cast<char>(line.size());
    out += static_cast<char>(size <= 26 ? 'A' + size - 1 : 'a' + size - 27);
    for (std::size_t word = 0; word < line.size(); word += 4) {
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < 4; ++i)
        value = (value << 8U) | (word + i < line.size() ? static_cast<unsigned char>(line[word + i]) : 0U);
      char digits[5];
      for (int i = 4; i >= 0; --i, value /= 85) digits[i] = kDigits85[value % 85];
      out.append(digits, sizeof digits);
    }
    out += '\n';
  }
  out += '\n';
}

void add_binary(const git_diff_binary_file& file, std::string& out) {
  out += fmt::format("{} {}\n", file.type == GIT_DIFF_BINARY_DELTA ? "delta" : "literal", file.inflatedlen);
  add_base85({file.data, file.datalen}, out);
}

struct BinaryOut {
  std::string* text;
  bool reversible;
};

int take_binary(const git_diff_delta*, const git_diff_binary* binary, void* to) {
  auto& out = *static_cast<BinaryOut*>(to);
  add_binary(binary->new_file, *out.text);
  if (out.reversible) add_binary(binary->old_file, *out.text);
  return 0;
}

// git needs the reverse part only to revert a patch. It is left out when the old side is not read.
Status add_binary_hunk(const Read& before, const Read& after, std::string& out) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_FORCE_BINARY | GIT_DIFF_SHOW_BINARY;
  out += "GIT binary patch\n";
  BinaryOut to{.text = &out, .reversible = before.bounded};
  if (after.bytes.empty()) {  // libgit2 writes no hunk for two empty sides.
    constexpr std::string_view kNothingDeflated("\x78\x9c\x03\x00\x00\x00\x00\x01", 8);
    if (!before.bounded || before.bytes.empty()) {
      out += "literal 0\n";
      add_base85(kNothingDeflated, out);
      return {};
    }
  }
  const char* from = before.file && before.bounded ? before.bytes.data() : nullptr;
  if (git_diff_buffers(from, before.bytes.size(), nullptr, after.file ? after.bytes.data() : nullptr,
                       after.bytes.size(), nullptr, &options, nullptr, take_binary, nullptr, nullptr,
                       &to) != 0)
    return git_failure(ErrorKind::kUnavailable, "patch");
  return {};
}

// --- lines

int take_hunk(const git_diff_delta*, const git_diff_hunk* hunk, void* to) {
  static_cast<std::string*>(to)->append(hunk->header, hunk->header_len);
  return 0;
}

int take_patch_line(const git_diff_delta*, const git_diff_hunk*, const git_diff_line* line, void* to) {
  auto& out = *static_cast<std::string*>(to);
  const char origin = line->origin;
  if (origin == GIT_DIFF_LINE_CONTEXT || origin == GIT_DIFF_LINE_ADDITION || origin == GIT_DIFF_LINE_DELETION)
    out += origin;
  // Other origins say that the file ends without a newline.
  out.append(line->content, line->content_len);
  return 0;
}

Status add_lines(const Read& before, const Read& after, std::string& out) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_FORCE_TEXT;
  if (git_diff_buffers(before.bytes.data(), before.bytes.size(), nullptr, after.bytes.data(),
                       after.bytes.size(), nullptr, &options, nullptr, nullptr, take_hunk, take_patch_line,
                       &out) != 0)
    return git_failure(ErrorKind::kUnavailable, "patch");
  return {};
}

// The comparison of lines takes tens of bytes for each.
bool is_text(const Read& side) {
  return side.size <= kTextBytesMax && side.bytes.find('\0') == std::string::npos &&
         std::ranges::count(side.bytes, '\n') <= kPolicyLinesMax;
}

Status add_content(const PatchSide& from, const PatchSide& to, const Read& before, const Read& after,
                   std::string& out) {
  const bool same_mode = before.file && after.file && mode_of(*before.file) == mode_of(*after.file);
  out += "index " + before.id + ".." + after.id + (same_mode ? " " + mode_text(*after.file) : "") + "\n";
  if (!before.bounded || !is_text(before) || !is_text(after)) return add_binary_hunk(before, after, out);
  if (before.bytes.empty() && after.bytes.empty()) return {};
  out += before.file ? named_line("--- ", "a/" + from.path) : "--- /dev/null\n";
  out += after.file ? named_line("+++ ", "b/" + to.path) : "+++ /dev/null\n";
  return add_lines(before, after, out);
}

std::string mode_lines(const Read& before, const Read& after) {
  if (!before.file) return "new file mode " + mode_text(*after.file) + "\n";
  if (!after.file) return "deleted file mode " + mode_text(*before.file) + "\n";
  if (mode_of(*before.file) == mode_of(*after.file)) return {};
  return "old mode " + mode_text(*before.file) + "\nnew mode " + mode_text(*after.file) + "\n";
}

std::unexpected<Error> too_large(const Read& side) {
  return fail(ErrorKind::kExhausted, fmt::format("its {} bytes are more than a patch takes of one file ({})",
                                                 side.size, kPatchedFileBytesMax));
}

}  // namespace

Result<std::string> patch_text(const PatchSide& from, const PatchSide& to, bool sha256_ids) {
  if (from.file && to.file && from.file->is_link != to.file->is_link) {
    // The type of the file changes: git needs two parts.
    PAWL_TRY(auto removed, patch_text(from, {.path = to.path, .file = std::nullopt}, sha256_ids));
    PAWL_TRY(const auto made, patch_text({.path = from.path, .file = std::nullopt}, to, sha256_ids));
    return removed + made;
  }
  PAWL_TRY(auto before, read_side(from));
  PAWL_TRY(auto after, read_side(to));
  if (!before.file && !after.file) return std::string();
  const bool may_be_same = before.file && after.file && before.size == after.size;
  if (!may_be_same && !after.bounded) return too_large(after);
  PAWL_OK(identify(before, sha256_ids));
  PAWL_OK(identify(after, sha256_ids));
  const bool same_content = before.file && after.file && before.id == after.id;
  const bool moved = from.path != to.path;
  const std::string modes = mode_lines(before, after);
  if (same_content && modes.empty() && !moved) return std::string();
  if (!same_content && !after.bounded) return too_large(after);
  std::string out = "diff --git " + quoted("a/" + from.path) + " " + quoted("b/" + to.path) + "\n" + modes;
  if (moved) {
    if (same_content) out += "similarity index 100%\n";
    out += "rename from " + quoted(from.path) + "\nrename to " + quoted(to.path) + "\n";
  }
  if (same_content) return out;
  PAWL_OK(load(before));
  PAWL_OK(load(after));
  PAWL_OK(add_content(from, to, before, after, out));
  return out;
}

}  // namespace pawl::workspace
