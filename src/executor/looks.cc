#include "executor/looks.h"

#include <algorithm>
#include <iterator>

namespace pawl::executor {

void Looks::need(std::string base_id, std::vector<std::string> layers) {
  needed_.push_back({.base_id = std::move(base_id), .layers = std::move(layers)});
}

void Looks::begin() {
  if (needed_.empty() || look_.valid()) return;
  begun_ = std::exchange(needed_, {});
  look_ = objects_->check_beside(begun_);
}

Status Looks::end() {
  auto status = look_.valid() ? look_.get() : Status();
  if (!status) std::ranges::move(begun_, std::back_inserter(needed_));
  begun_.clear();
  while (status && !needed_.empty()) {
    status = objects_->check_before_use(needed_.back().base_id, needed_.back().layers);
    if (status) needed_.pop_back();
  }
  return status;
}

}  // namespace pawl::executor
