// An Api with its own episode, called in the way its server calls it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/api.h"
#include "agent/body.h"
#include "os/file.h"
#include "support/journal_fixture.h"
#include "support/small_disk.h"
#include "support/temp_folder.h"

namespace pawl::agent {

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() { open({.key = {"run", "goal", "episode"}, .model = "small", .plan = "p1"}); }

  void open(Context context) {
    api_.reset();
    const auto path = episode_path(folder_.path(), {"run", "goal", "episode"});
    auto episode = Journal::open(*path, Journal::Access::kReadWrite);
    PAWL_CHECK(episode);
    journal_ = episode->get();
    Api::Hooks hooks;
    hooks.on_cap_reached = [this] { ++caps_reached_; };
    hooks.on_unsaved = [this](std::string_view why, std::int64_t room_needed) {
      unsaved_.emplace_back(why);
      room_needed_ = room_needed;
    };
    hooks.on_log = [this](std::string_view level, std::string_view line) {
      log_.push_back(std::string(level) + ": " + std::string(line));
    };
    hooks.free_bytes = [this]() -> Result<std::int64_t> { return free_bytes_; };
    hooks.served_ms = [this] { return served_ms_; };
    api_ = std::make_unique<Api>(std::move(*episode), std::move(context), std::move(hooks));
  }

  ApiResponse ask(std::string_view method, std::string_view target, std::string_view body = {},
                  const std::string& session = "s1") {
    auto route = find_route(method, target, true);
    if (!route) return route.error();
    Call call{.route = std::move(*route), .session = session, .body = body};
    call.headers.session = session;
    call.headers.metadata = metadata_;
    if (call.route.verb != Verb::kSave) return api_->handle(call, kNow);
    auto saving = api_->begin_save(call, static_cast<std::int64_t>(body.size()), kNow);
    if (!saving) return problem(saving.error());
    if (const auto appended = (*saving)->append(body); !appended) return problem(appended.error());
    return api_->finish_save(call, **saving, kNow);
  }
  // As ask(), but in a group that cannot be committed because the disk is full.
  ApiResponse ask_in_vain(std::string_view target, std::string_view body) {
    const auto route = find_route("POST", target, true);
    const Call call{.route = *route, .session = "s1", .body = body};
    EXPECT_TRUE(api_->begin_group());
    ApiResponse answer = api_->handle(call, kNow);
    api_->roll_back();
    answer.unsaved = kDiskFull;
    api_->settle(call, answer, kNow);
    return answer;
  }
  Json json(const ApiResponse& answer) { return Json::parse(answer.body); }
  std::int64_t events(const std::string& name) { return static_cast<std::int64_t>(details(name).size()); }
  std::vector<Json> details(const std::string& name) {
    std::vector<Json> out;
    const auto told = journal_->reported_since(0);
    for (const auto& event : told->events)
      if (event.event == name) out.push_back(event.details);
    return out;
  }

  pawl::testing::TempFolder folder_;
  std::unique_ptr<Api> api_;
  Journal* journal_ = nullptr;
  int caps_reached_ = 0;
  std::vector<std::string> log_, unsaved_;
  std::int64_t free_bytes_ = 1 << 30, room_needed_ = 0, served_ms_ = 0;
  std::optional<std::string> metadata_;
};

}  // namespace pawl::agent
