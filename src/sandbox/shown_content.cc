#include "sandbox/shown_content.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>

#include "base/hash.h"
#include "os/file.h"
#include "sandbox/shown.h"

namespace pawl::sandbox {
namespace {

class ShownContent {
 public:
  explicit ShownContent(std::uint64_t& left) : left_(left) {}

  // `name`: the path below the shown one; "" for that itself.
  Status add(const std::string& path, const std::string& name) {
    if (++entries_ > kShownEntriesMax)
      return fail(ErrorKind::kInvalid, path + ": too much lies beside it to be named (" +
                                           std::to_string(kShownEntriesMax) +
                                           " entries): name the folders of it that are needed");
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) return {};
    add_field(name);
    add_field(std::to_string(status.st_mode));
    if (S_ISLNK(status.st_mode)) add_field(target_of(path));
    if (S_ISREG(status.st_mode)) add_file(path, status);
    return S_ISDIR(status.st_mode) ? add_folder(path, name) : Status();
  }

  std::string hex() const { return hasher_.hex(); }

 private:
  // No field has a NUL in it, so two lists of fields never give the same bytes.
  void add_field(const std::string& text) {
    hasher_.update(text);
    hasher_.update(std::string_view("\0", 1));
  }

  static std::string target_of(const std::string& path) {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlink(path.c_str(), target.data(), target.size());
    return {target.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }

  void add_file(const std::string& path, const struct stat& status) {
    add_field(std::to_string(status.st_size));
    add_field(std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec));
    const auto bytes = static_cast<std::uint64_t>(status.st_size);
    if (bytes > left_) return add_field("");
    left_ -= bytes;
    Hasher content;
    const auto source = os::file_source(path, bytes);
    auto piece = source->next();
    for (; piece && !piece->empty(); piece = source->next()) content.update(*piece);
    add_field(piece ? content.hex() : "");
  }

  // The times of a folder tell no more than its names do.
  Status add_folder(const std::string& path, const std::string& name) {
    const auto names = os::list_folder(path);
    if (!names) return {};
    for (const auto& each : *names)
      PAWL_OK(add(os::join(path, each), name.empty() ? each : name + "/" + each));
    return {};
  }

  std::uint64_t& left_;
  Hasher hasher_;
  int entries_ = 0;
};

}  // namespace

Result<std::string> shown_content(const std::string& path, std::uint64_t& content_left) {
  ShownContent content(content_left);
  PAWL_OK(content.add(path, ""));
  return content.hex();
}

}  // namespace pawl::sandbox
