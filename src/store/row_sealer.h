// The store's view of the ledger's sealing: turns content into lines and signs heads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json_members.h"
#include "base/time.h"
#include "store/rows.h"

namespace pawl::store {

// Turns a row's content into its line. The ledger room implements it (ledger/ledger.h).
class RowSealer {  // thread-safe
 public:
  virtual ~RowSealer() = default;
  struct Sealed {
    std::string line, hash;
  };
  // `content` has no seq, at, prev_hash, hash: seal() adds them.
  virtual Sealed seal(JsonMembers content, std::int64_t seq, WallTime at,
                      std::string_view prev_hash) const = 0;
  // Signs the body of a head, or a text that cannot be the body of a head (ledger/dsse.h).
  virtual Head sign(std::string body) const = 0;
  virtual const std::string& public_key() const = 0;  // hexadecimal
  // True: the key of this sealer signed `head`.
  virtual bool has_signed(const Head& head) const = 0;
  // True: `row` has the bytes, seq and hash it was sealed with, and follows a row with the hash `prev_hash`.
  virtual bool continues(const LedgerRow& row, std::string_view prev_hash) const = 0;
  // True: a row of this kind may be stored before a signed head covers it. Every other row is stored together with
  // its signed head.
  virtual bool may_be_unsigned(const LedgerRow& row) const = 0;
  // A keyed hash of the end of a chain: without the key, no other rows can lead to a sealed end. `head`: the hash of
  // the row number `rows`.
  virtual std::string seal_of_end(std::string_view run_id, std::string_view chain, std::int64_t rows,
                                  std::string_view head) const = 0;
};

}  // namespace pawl::store
