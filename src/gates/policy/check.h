// Checks the changes of an attempt against the rules of a policy. docs/policy.md defines each rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/policy.h"
#include "gates/gates.h"
#include "gates/policy/shadowing.h"
#include "secrets/redact.h"

namespace pawl::gates {

// Findings of each reaction that are shown; further findings are only counted.
constexpr std::size_t kFindingsShown = 20;

// Collects findings over all changed files of an attempt. Not thread-safe: one thread uses an object.
class PolicyCheck {
 public:
  // REQUIRES: `policy` and `redactor` outlive it.
  PolicyCheck(const Policy& policy, const secrets::Redactor& redactor, Shadows shadows = {})
      : policy_(&policy), redactor_(&redactor), shadows_(std::move(shadows)) {}

  // Adds the findings of one changed file. REQUIRES: each file is passed once, in the order of the paths.
  void see(const FileChange& change);

  // The signal diff.policy. It fails when a rule with the reaction `fail` has a finding. details: files,
  // lines and bytes changed; `failures` and `failing`, `told` and `telling`: the number of findings of either
  // reaction, and the first of them; `test_files` and `test_file_names`: the number of test files that were changed
  // or deleted although no rule forbids it, and the first of them. A finding is one line "PATH[:LINE]: RULE: WORDS" in printable ASCII.
  // Secrets are removed before anything is cut.
  Signal signal() const;

 private:
  void find(Reaction reaction, const std::string& place, const char* rule, std::string_view words);
  void check_path(const FileChange& change);
  void check_kind(const FileChange& change);
  void check_secrets(const FileChange& change);
  void check_size(const FileChange& change);
  void check_tests(const FileChange& change);

  struct Findings {
    std::int64_t count = 0;
    std::string shown;
  };
  void add(Findings& to, const std::string& place, std::string_view rule, std::string_view words) const;

  const Policy* policy_;
  const secrets::Redactor* redactor_;
  const Shadows shadows_;
  std::int64_t files_ = 0, lines_ = 0, bytes_ = 0;
  Findings failing_, told_;
  // Test files of base that changed or went, and that no rule forbids to change.
  std::vector<std::string> test_files_;
};

// The signal for a policy that is missing or does not parse any more: evidence is missing, so the attempt
// escalates.
Signal policy_missing(const std::string& why);

}  // namespace pawl::gates
