// A redactor without any named value.
#pragma once

#include <string>

#include "secrets/redact.h"

namespace pawl::testing {

inline const secrets::Redactor& plain_redactor() {
  static const secrets::Redactor one(std::string(64, '0'), {});
  return one;
}

}  // namespace pawl::testing
