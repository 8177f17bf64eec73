// Checks a plan with the files that lie beside it, which steps see in /plan. A detail of this room.
#pragma once

#include <string>

#include "plan/parse.h"

namespace pawl::cli {

// A problem at the signals of the gate; `message` follows its name. `shown`: the plan's file as a person named it.
plan::Problem at_signals(const std::string& shown, const plan::Gate& gate, std::string message);

// Adds warnings. `file`: the absolute path of the plan. REQUIRES: parsed.plan.
void check_files_beside(const std::string& shown, const std::string& file, plan::Parsed& parsed);

}  // namespace pawl::cli
