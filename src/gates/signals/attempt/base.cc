// The result of a gate on base, before the work. It passes when the gate can judge work.
#include "base/hash.h"
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates {
namespace signals {

const Kind& base() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = "",
      .details = {{"green", kBoolean},
                  {"tests", kInteger},
                  {"failing", kInteger},
                  {"failing_names", kText},
                  {"moving", kInteger},
                  {"moving_names", kText},
                  {"base", kText},
                  {"problem", kText}},
  };
  return kind;
}

}  // namespace signals

Signal base_signal(const std::string& gate_id, const OnBase& found) {
  Signal out{.kind = "base",
             .gate_id = gate_id + "@base",  // not a signal of the gate itself, which judges the work
             .passed = found.is_usable(),
             .missing = !found.stop.empty(),
             .details = {{"green", found.green}},
             .collector = "base",
             .read = blake3_hex(text_of(found))};
  if (!found.stop.empty()) out.details["problem"] = found.stop;
  for (const auto& [kind, inventory] : found.inventories) {
    if (inventory.state != Inventory::State::kKnown) out.details["base"] = kind + ": " + text_of(inventory);
    if (kind != "tests") continue;
    out.details["tests"] = inventory.names.size();
    if (const auto moving = names_that_move(inventory); !moving.empty()) {
      out.details["moving"] = moving.size();
      out.details["moving_names"] = shown(moving);
    }
    if (inventory.failing.empty()) continue;
    out.details["failing"] = inventory.failing.size();
    out.details["failing_names"] = shown(inventory.failing);
  }
  return out;
}

}  // namespace pawl::gates
