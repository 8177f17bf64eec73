// A policy's rules on what an attempt changed. docs/policy.md says what each means.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/policy.h"
#include "gates/gates.h"
#include "gates/policy/shadowing.h"
#include "secrets/redact.h"

namespace pawl::gates {

constexpr std::size_t kFindingsShown = 20;  // of each reaction; the others are counted

class PolicyCheck {  // for one thread
 public:
  // REQUIRES: `policy` and `redactor` outlive it.
  PolicyCheck(const Policy& policy, const secrets::Redactor& redactor, Shadows shadows = {})
      : policy_(&policy), redactor_(&redactor), shadows_(std::move(shadows)) {}

  // Each file once, in the order of their paths.
  void see(const FileChange& change);

  // The signal diff.policy: failed when a rule that fails has a finding. details: files, lines and bytes
  // changed; failures and failing, told and telling: how many findings of either reaction, and the first of
  // them, one a line, each "PATH[:LINE]: RULE: WORDS" in printable ASCII, without any secret.
  Signal signal() const;

 private:
  void find(Reaction reaction, const std::string& place, const char* rule, std::string_view words);
  void check_path(const FileChange& change);
  void check_kind(const FileChange& change);
  void check_secrets(const FileChange& change);
  void check_size(const FileChange& change);

  struct Findings {
    std::int64_t count = 0;
    std::string shown;
  };
  void add(Findings& to, const std::string& line) const;

  const Policy* policy_;
  const secrets::Redactor* redactor_;
  const Shadows shadows_;
  std::int64_t files_ = 0, lines_ = 0, bytes_ = 0;
  Findings failing_, told_;
};

// When the policy can't be had or does not parse any more: evidence is missing, so the attempt escalates.
Signal policy_missing(const std::string& why);

}  // namespace pawl::gates
