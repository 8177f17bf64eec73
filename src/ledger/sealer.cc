// Seals rows, signs heads, and stores the key pair.
#include <sodium.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/seal.h"
#include "ledger/chain.h"
#include "ledger/ledger.h"
#include "ledger/signature.h"
#include "os/file.h"

namespace pawl::ledger {
namespace {

constexpr std::uint64_t kKeyFileBytesMax = 4096;

std::string keys_folder(const std::string& folder) { return os::join(folder, "keys"); }
std::string secret_path(const std::string& folder) { return os::join(keys_folder(folder), "ledger.key"); }
std::string public_path(const std::string& folder) { return os::join(keys_folder(folder), "ledger.pub"); }

Result<std::string> read_hex(const std::string& path, std::size_t bytes) {
  PAWL_TRY(std::string text, os::read_file(path, kKeyFileBytesMax));
  if (text.ends_with('\n')) text.pop_back();
  std::string out(bytes, '\0');
  std::size_t size = 0;
  const int parsed = sodium_hex2bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(),
                                    text.size(), nullptr, &size, nullptr);
  sodium_memzero(text.data(), text.size());
  if (parsed == 0 && size == bytes) return out;
  return std::unexpected(
      Error{.kind = ErrorKind::kCorrupt,
            .message = path + " is not a key; restore it from a backup, or move it away, then a new one "
                              "is made (heads signed before then verify with the old ledger.pub)",
            .path = path});
}

// An Ed25519 signature depends only on key and text. This signature is never published: no head, envelope or
// inventory has such a text.
std::string derived_key(const store::RowSealer& sealer, std::string purpose) {
  return blake3_bytes(sealer.sign(std::move(purpose)).signature);
}

class Sealer final : public store::RowSealer {
 public:
  explicit Sealer(std::string secret) : secret_(std::move(secret)) {
    unsigned char key[crypto_sign_PUBLICKEYBYTES];
    crypto_sign_ed25519_sk_to_pk(key, bytes(secret_));
    public_ = to_hex({reinterpret_cast<const char*>(key), sizeof key});
    ends_.emplace(derived_key(*this, "key of the ends of open chains\n"), "end of a chain");
  }
  ~Sealer() override { sodium_memzero(secret_.data(), secret_.size()); }

  const std::string& public_key() const override { return public_; }

  Sealed seal(JsonMembers content, std::int64_t seq, WallTime at, std::string_view prev_hash) const override {
    return seal_row(std::move(content), seq, at, prev_hash);
  }

  store::Head sign(std::string body) const override {
    unsigned char signature[crypto_sign_BYTES];
    crypto_sign_detached(signature, nullptr, bytes(body), body.size(), bytes(secret_));
    return {.body = std::move(body),
            .public_key = public_,
            .signature = to_hex({reinterpret_cast<const char*>(signature), sizeof signature})};
  }

  bool has_signed(const store::Head& head) const override {
    return head.public_key == public_ && signature_holds(head.body, head.public_key, head.signature);
  }
  bool continues(const store::LedgerRow& row, std::string_view prev_hash) const override {
    return is_row(row.line, row.seq, row.hash, prev_hash);
  }
  bool may_be_unsigned(const store::LedgerRow& row) const override {
    return ledger::may_be_unsigned(row.line);
  }
  std::string seal_of_end(std::string_view run_id, std::string_view chain, std::int64_t rows,
                          std::string_view head) const override {
    // No id has a zero byte, so no other end has this text.
    std::string text(run_id);
    text.append(1, '\0').append(chain).append(1, '\0').append(std::to_string(rows)).append(1, '\0');
    return ends_->of(text.append(head));
  }

 private:
  static const unsigned char* bytes(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }
  std::string secret_, public_;
  std::optional<Seal> ends_;
};

Status make_secret(const std::string& folder) {
  if (os::exists(public_path(folder)))
    return std::unexpected(
        Error{.kind = ErrorKind::kCorrupt,
              .message = secret_path(folder) +
                         " is gone; restore it from a backup, or move ledger.pub away, then a new "
                         "pair is made (keep it: heads signed before then verify with that one)",
              .path = secret_path(folder)});
  unsigned char public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
  crypto_sign_keypair(public_key, secret);
  const std::string hex = to_hex({reinterpret_cast<const char*>(secret), sizeof secret}) + "\n";
  sodium_memzero(secret, sizeof secret);
  return os::write_durably("keys", secret_path(folder), hex, 0600);
}

Status make_keys(const std::string& folder) {
  PAWL_OK(os::make_folders(keys_folder(folder), 0700));
  // Two programs that start at the same time must use one pair.
  PAWL_TRY(const auto lock, os::FileLock::lock(os::join(keys_folder(folder), "lock")));
  if (!os::exists(secret_path(folder))) PAWL_OK(make_secret(folder));
  if (os::exists(public_path(folder))) return {};
  PAWL_TRY(std::string secret, read_hex(secret_path(folder), crypto_sign_SECRETKEYBYTES));
  // Written after ledger.key: a lone ledger.pub means that ledger.key was lost.
  return os::write_durably("keys", public_path(folder), Sealer(std::move(secret)).public_key() + "\n");
}

}  // namespace

store::RowSealer::Sealed seal_row(JsonMembers content, std::int64_t seq, WallTime at,
                                  std::string_view prev_hash) {
  content.number("seq", seq).text("at", rfc3339(at)).text("prev_hash", prev_hash);
  std::string line = content.object();
  line.pop_back();  // the closing brace
  std::string hash = blake3_hex(line);
  line += ",\"hash\":\"" + hash + "\"}";
  return {.line = std::move(line), .hash = std::move(hash)};
}

Result<std::shared_ptr<const store::RowSealer>> open_sealer(const std::string& folder) {
  if (sodium_init() < 0) return fail(ErrorKind::kUnavailable, "libsodium does not start");
  if (!os::exists(secret_path(folder)) || !os::exists(public_path(folder))) PAWL_OK(make_keys(folder));
  PAWL_TRY(std::string secret, read_hex(secret_path(folder), crypto_sign_SECRETKEYBYTES));
  return std::make_shared<Sealer>(std::move(secret));
}

std::string key_of_objects(const store::RowSealer& sealer) {
  return derived_key(sealer, "key of what is remembered of objects\n");
}

std::string key_of_steps(const store::RowSealer& sealer) {
  return derived_key(sealer, "key of what supervisors leave of steps\n");
}

Result<std::string> public_key_of(const std::string& folder) {
  PAWL_TRY(std::string text, os::read_file(public_path(folder), kKeyFileBytesMax));
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool signature_holds(std::string_view body, std::string_view public_key_hex, std::string_view signature_hex) {
  if (sodium_init() < 0) return false;
  // Only one spelling of a key is valid; sodium_hex2bin() accepts capitals, too.
  if (!is_lower_hex(public_key_hex) || !is_lower_hex(signature_hex)) return false;
  unsigned char key[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];
  std::size_t key_size = 0, signature_size = 0;
  return sodium_hex2bin(key, sizeof key, public_key_hex.data(), public_key_hex.size(), nullptr, &key_size,
                        nullptr) == 0 &&
         sodium_hex2bin(signature, sizeof signature, signature_hex.data(), signature_hex.size(), nullptr,
                        &signature_size, nullptr) == 0 &&
         key_size == sizeof key && signature_size == sizeof signature &&
         crypto_sign_verify_detached(signature, reinterpret_cast<const unsigned char*>(body.data()),
                                     body.size(), key) == 0;
}

}  // namespace pawl::ledger
