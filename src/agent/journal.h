// The data that the agent of one episode stored. A verb is durable when it returns; inside a group it is durable when
// commit() returns.
//
// Not thread-safe: one thread uses one Journal. While a process has an episode open for writing, other
// processes may only read it.
//
// Errors:
//   kInvalid    the agent's mistake; the message names the field and the bound
//   kConflict   a key used again with other arguments; the message names both
//   kNotFound   the named object does not exist
//   kExhausted  a bound of agent.h, or a full disk
//   kCorrupt    a checkpoint's bytes do not match their hashes
#pragma once

#include <memory>
#include <string>

#include "agent/checkpoints.h"
#include "agent/paid_steps.h"
#include "agent/reports.h"
#include "base/error.h"

namespace pawl::agent {

class Journal : public Checkpoints, public PaidSteps, public Reports {
 public:
  enum class Access { kReadWrite, kReadOnly };
  // Creates the file and its folders, except with kReadOnly (then kNotFound). A reader sees committed data, beside a
  // writer and after a writer was killed. Its writing verbs fail with kDenied, and its load() records no damage.
  // kInvalid: a newer pawl wrote the file; kCorrupt: it is not a journal.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, Access access);

  // Verbs between begin_group() and commit() are one transaction. Their results are durable, and may be
  // reported, when commit() returns. When commit() fails, none of them happened. A verb that fails leaves no
  // change. `alone`: the group has one verb, without a savepoint, which is cheaper. If that verb fails after
  // a write, must_roll_back() is true. Then commit() fails, and the whole group must be rolled back.
  virtual Status begin_group(bool alone = false) = 0;
  virtual bool must_roll_back() const = 0;
  virtual bool has_written() const = 0;  // whether the open group has changed anything
  virtual Status commit() = 0;
  virtual void roll_back() = 0;

  // Whether the next process can resume: there is a checkpoint, a step, a child or a question.
  virtual Result<bool> has_kept() = 0;
};

}  // namespace pawl::agent
