#include "workspace/git/pack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "os/file.h"
#include "workspace/git/big_endian.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::size_t kWrittenAtOnceBytes = 1 << 20;
constexpr std::size_t kPackHeadBytes = 12;  // "PACK", the version and the number of objects.
constexpr std::uint32_t kPackVersion = 2;
constexpr std::string_view kIndexMagic = "\377tOc";
constexpr std::size_t kFanoutAt = 8, kIdsAt = kFanoutAt + 256 * 4;
constexpr std::uint32_t kFarOffset = 1U << 31;           // An offset from here on takes eight bytes.
constexpr std::size_t kDeflatedAtOnceBytes = 256 << 10;  // zlib takes lengths of 32 bits.

// The type and the size of an object, before its compressed content.
std::string head_of(ObjectType type, std::uint64_t size) {
  std::string out;
  auto byte = static_cast<unsigned>(type) << 4 | static_cast<unsigned>(size & 15U);
  for (size >>= 4; size > 0; size >>= 7) {
    out += static_cast<char>(byte | 0x80U);
    byte = static_cast<unsigned>(size & 0x7FU);
  }
  return out + static_cast<char>(byte);
}

// One for each thread: to make one takes longer than to compress a small file.
class Deflater {
 public:
  Deflater() { PAWL_CHECK(deflateInit(&stream_, Z_BEST_SPEED) == Z_OK); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { deflateEnd(&stream_); }

  Status run(std::string_view content, const std::function<Status(std::string_view)>& take) {
    deflateReset(&stream_);
    int state = Z_OK;
    do {
      const auto piece = content.substr(0, kDeflatedAtOnceBytes);
      content.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<uInt>(piece.size());
      do {
        stream_.next_out = out_.data();
        stream_.avail_out = static_cast<uInt>(out_.size());
        state = deflate(&stream_, content.empty() ? Z_FINISH : Z_NO_FLUSH);
        PAWL_OK(take({reinterpret_cast<const char*>(out_.data()), out_.size() - stream_.avail_out}));
      } while (stream_.avail_out == 0);
    } while (!content.empty());
    PAWL_CHECK(state == Z_STREAM_END);
    return {};
  }

 private:
  z_stream stream_{};
  std::array<Bytef, 64 << 10> out_{};
};

Status deflate_to(std::string_view content, const std::function<Status(std::string_view)>& take) {
  thread_local const auto deflater = std::make_unique<Deflater>();
  return deflater->run(content, take);
}

std::uint32_t crc_of(std::uint32_t crc, std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

Status write_to(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno(errno, "write", path);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace

ObjectId id_of(ObjectType type, std::string_view content) {
  const std::string_view name = type == ObjectType::kCommit ? "commit"
                                : type == ObjectType::kTree ? "tree"
                                                            : "blob";
  Sha1 hash;
  hash.add(std::string(name) + " " + std::to_string(content.size()) + std::string(1, '\0'));
  hash.add(content);
  return hash.end();
}

PackedObject packed(ObjectType type, std::string_view content) {
  PackedObject out{.id = id_of(type, content), .bytes = head_of(type, content.size())};
  const auto taken = deflate_to(content, [&](std::string_view piece) -> Status {
    out.bytes += piece;
    return {};
  });
  PAWL_CHECK(taken.has_value());
  return out;
}

Result<PackIndex> PackIndex::open(const std::string& path) {
  PAWL_TRY(auto file, os::MappedFile::open(path, kTreeBytesMax));
  PackIndex out(std::move(file));
  const auto bytes = out.file_.bytes();
  const bool has_head = bytes.size() >= kIdsAt && bytes.starts_with(kIndexMagic);
  if (!has_head || bytes.size() < kIdsAt + std::size_t{out.count_to(255)} * sizeof(ObjectId))
    return fail(ErrorKind::kCorrupt, path + " is no index of a pack");
  return out;
}

std::uint32_t PackIndex::count_to(unsigned first_byte) const {
  return get_32_bits(file_.bytes(), kFanoutAt + std::size_t{first_byte} * 4);
}

bool PackIndex::has(const ObjectId& id) const {
  std::size_t low = id[0] == 0 ? 0 : count_to(id[0] - 1U), high = count_to(id[0]);
  const auto count = std::size_t{count_to(255)};
  while (low < high && high <= count) {
    const std::size_t middle = low + (high - low) / 2;
    const int order = file_.bytes().compare(kIdsAt + middle * id.size(), id.size(), bytes_of(id));
    if (order == 0) return true;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

std::size_t PackWriter::HashOfId::operator()(const ObjectId& id) const {
  std::size_t out = 0;
  std::memcpy(&out, id.data(), sizeof out);
  return out;
}

Result<PackWriter> PackWriter::open(const std::string& folder, std::vector<PackIndex> known) {
  std::string path = os::join(folder, "new");
  os::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!fd || fchmod(fd.get(), 0444) != 0) return fail_errno(errno, "make file", path);
  PackWriter out(folder, std::move(path), std::move(fd), std::move(known));
  PAWL_OK(out.write(std::string(kPackHeadBytes, '\0')));
  return out;
}

bool PackWriter::has(const ObjectId& id) const {
  return placed_.contains(id) || std::ranges::any_of(known_, [&](const auto& one) { return one.has(id); });
}

Status PackWriter::write(std::string_view bytes) {
  buffer_ += bytes;
  size_ += bytes.size();
  return buffer_.size() < kWrittenAtOnceBytes ? Status() : flush();
}

Status PackWriter::flush() {
  PAWL_OK(write_to(fd_.get(), buffer_, path_));
  buffer_.clear();
  return {};
}

Status PackWriter::add(const PackedObject& object) {
  if (has(object.id)) return {};
  placed_[object.id] = {.offset = size_, .crc = crc_of(0, object.bytes)};
  return write(object.bytes);
}

Result<ObjectId> PackWriter::add_large(ObjectType type, std::string_view content) {
  const ObjectId id = id_of(type, content);
  if (has(id)) return id;
  Placed& placed = placed_[id] = {.offset = size_};
  const auto take = [&](std::string_view piece) -> Status {
    placed.crc = crc_of(placed.crc, piece);
    return write(piece);
  };
  PAWL_OK(take(head_of(type, content.size())));
  PAWL_OK(deflate_to(content, take));
  return id;
}

Status PackWriter::finish() {
  PAWL_OK(flush());
  if (placed_.empty()) {
    if (unlink(path_.c_str()) != 0) return fail_errno(errno, "remove", path_);
    return {};
  }
  std::string head = "PACK";
  put_32_bits(head, kPackVersion);
  put_32_bits(head, static_cast<std::uint32_t>(placed_.size()));
  if (pwrite(fd_.get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()))
    return fail_errno(errno, "write", path_);
  Sha1 hash;
  const auto all = os::file_source(path_, kTreeBytesMax);
  for (;;) {
    PAWL_TRY(const auto piece, all->next());
    if (piece.empty()) break;
    hash.add(piece);
  }
  const ObjectId id = hash.end();
  PAWL_OK(write_to(fd_.get(), bytes_of(id), path_));
  const std::string name = os::join(folder_, "pack-" + hex_of(id));
  PAWL_OK(os::write_atomically(name + ".idx", index_text(id), 0444));
  if (rename(path_.c_str(), (name + ".pack").c_str()) != 0) return fail_errno(errno, "rename", path_);
  return {};
}

std::string PackWriter::index_text(const ObjectId& of_pack) const {
  std::vector<const std::pair<const ObjectId, Placed>*> sorted;
  std::array<std::uint32_t, 256> counts{};
  for (const auto& each : placed_) {
    sorted.push_back(&each);
    ++counts.at(each.first[0]);
  }
  std::ranges::sort(sorted, {}, [](const auto* each) { return each->first; });
  std::string out(kIndexMagic), ids, crcs, offsets, far;
  put_32_bits(out, kPackVersion);
  std::uint32_t below = 0;
  for (const std::uint32_t count : counts) put_32_bits(out, below += count);
  std::uint32_t far_count = 0;
  for (const auto* each : sorted) {
    const auto& [offset, crc] = each->second;
    ids += bytes_of(each->first);
    put_32_bits(crcs, crc);
    put_32_bits(offsets, offset < kFarOffset ? static_cast<std::uint32_t>(offset) : kFarOffset | far_count++);
    if (offset < kFarOffset) continue;
    put_32_bits(far, static_cast<std::uint32_t>(offset >> 32));
    put_32_bits(far, static_cast<std::uint32_t>(offset));
  }
  out += ids + crcs + offsets + far;
  out += bytes_of(of_pack);
  Sha1 hash;
  hash.add(out);
  out += bytes_of(hash.end());
  return out;
}

}  // namespace pawl::workspace
