// The type of a hostile program: returns true when the attack got through.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace pawl::hostile {

using Attack = std::function<bool(const std::string& argument)>;

std::map<std::string, Attack> attacks_on_limits();

}  // namespace pawl::hostile
