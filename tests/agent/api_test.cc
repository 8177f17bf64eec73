// Requests on an episode, without sockets.
#include "base/base64.h"
#include "base/mutant.h"
#include "support/api_fixture.h"

namespace pawl::agent {
namespace {

TEST_F(ApiTest, AStepRunsOnce) {
  const auto* begin = R"({"key":"k","kind":"effect","args_hash":"h"})";
  EXPECT_EQ(json(ask("POST", "/v1/steps/begin", begin)), Json::parse(R"({"answer":"run","execution":1})"));
  EXPECT_EQ(json(ask("POST", "/v1/steps/begin", begin))["answer"], "run") << "the same process asks again";
  EXPECT_EQ(ask("POST", "/v1/steps/complete", R"({"key":"k","result":{"score":0.5}})").status, 204);
  EXPECT_EQ(json(ask("POST", "/v1/steps/begin", begin, "s2")),
            Json::parse(R"({"answer":"done","result":{"score":0.5}})"));
  EXPECT_EQ(ask("POST", "/v1/steps/begin", R"({"key":"k","kind":"effect","args_hash":"other"})").status, 409);
  EXPECT_EQ(ask("POST", "/v1/steps/complete", R"({"key":"k","result":1})").status, 409);
}

TEST_F(ApiTest, AnEffectOfALostProcessIsAPersonsQuestion) {
  const auto* begin = R"({"key":"k","kind":"effect","args_hash":"h"})";
  ask("POST", "/v1/steps/begin", begin, "s1");
  const auto lost = json(ask("POST", "/v1/steps/begin", begin, "s2"));
  EXPECT_EQ(lost["answer"], "lost");
  EXPECT_EQ(lost["on_lost"], "ask");
  const std::string key = lost["question"];
  const auto answered =
      ask("POST", "/v1/answer", R"({"key":")" + key + R"(","answer":"done {\"x\":1}","who":"me"})");
  EXPECT_EQ(answered.status, 200) << answered.body;
  EXPECT_TRUE(answered.answered);
  EXPECT_EQ(json(ask("POST", "/v1/steps/begin", begin, "s2"))["result"], Json::parse(R"({"x":1})"));
}

TEST_F(ApiTest, WrongMembersAreNamed) {
  for (const auto& [body, named] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"({"key":"k","kind":"effect"})", "args_hash"},
           {R"({"key":"k","kind":"both","args_hash":"h"})", "kind"},
           {R"({"key":"","kind":"pure","args_hash":"h"})", "key"},
           {R"({"key":"a\u0007","kind":"pure","args_hash":"h"})", "key"},
           {R"({"key":"k","kind":"pure","args_hash":"h","onlost":"ask"})", "onlost"},
           {R"({"key":"k","key":"k","kind":"pure","args_hash":"h"})", "key"}}) {
    const auto answer = ask("POST", "/v1/steps/begin", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.type, "application/problem+json");
    EXPECT_NE(json(answer)["detail"].get<std::string>().find(named), std::string::npos) << answer.body;
  }
}

TEST_F(ApiTest, ACapIsToldOnceAndAfterTheCommit) {
  open({.key = {"run", "goal", "episode"}, .tokens_cap = 10});
  const auto usage = [](int id) {
    return R"({"id":")" + std::to_string(id) +
           R"(","model":"m","input_tokens":3,"output_tokens":4,"usd":"0.5"})";
  };
  EXPECT_EQ(json(ask("POST", "/v1/usage", usage(1)))["stop"], false);
  ASSERT_TRUE(api_->begin_group());
  EXPECT_EQ(json(ask("POST", "/v1/usage", usage(2)))["stop"], true);
  EXPECT_EQ(caps_reached_, 0);
  ASSERT_TRUE(api_->commit());
  EXPECT_EQ(caps_reached_, 1);
  const auto after = json(ask("POST", "/v1/usage", usage(3)));
  EXPECT_EQ(after["spent"], Json::parse(R"({"usd":"1.5","tokens":21,"milliseconds":0})"));
  EXPECT_EQ(after["caps"], Json::parse(R"({"tokens":10})"));
  EXPECT_EQ(events("usage_limit"), 1);
  open({.key = {"run", "goal", "episode"}, .tokens_cap = 10});
  EXPECT_EQ(json(ask("GET", "/v1/context"))["stop"], true);
  ASSERT_TRUE(api_->begin_group());
  ask("POST", "/v1/usage", usage(4));
  ASSERT_TRUE(api_->commit());
  EXPECT_EQ(caps_reached_, 2) << "of a new process, that is over it already";
}

TEST_F(ApiTest, ANoteOfAHeartbeatIsALineOfTheLogOnce) {
  for (const auto* note : {"reading", "reading", "", "a\\nb", "reading"})
    EXPECT_EQ(ask("POST", "/v1/heartbeat", R"({"note":")" + std::string(note) + "\"}").status, 200);
  EXPECT_EQ(log_, (std::vector<std::string>{"heartbeat: reading", "heartbeat: a", "heartbeat: b",
                                            "heartbeat: reading"}));
  const std::string line = R"({"message":"x"})";
  while (ask("POST", "/v1/log", line).status == 204) continue;
  log_.clear();
  EXPECT_EQ(ask("POST", "/v1/heartbeat", R"({"note":"still here"})").status, 200);
  EXPECT_TRUE(log_.empty()) << "the second has its lines";
}

TEST_F(ApiTest, TimeAddsUpOverProcesses) {
  const Context context{.key = {"run", "goal", "episode"}};
  const auto elapsed = [&] { return json(ask("GET", "/v1/context"))["spent"]["milliseconds"]; };
  const auto grouped = [&](std::string_view method, std::string_view target, std::string_view body) {
    EXPECT_TRUE(api_->begin_group());
    auto answer = ask(method, target, body);
    EXPECT_TRUE(api_->commit());
    return answer;
  };
  served_ms_ = 1500;
  EXPECT_EQ(elapsed(), 1500);
  EXPECT_EQ(json(ask("POST", "/v1/heartbeat"))["spent"]["milliseconds"], 1500);
  EXPECT_EQ(
      json(grouped("POST", "/v1/steps/begin", R"({"key":"a","kind":"pure","args_hash":"x"})"))["answer"],
      "run");
  served_ms_ = 2000;
  EXPECT_EQ(json(ask("PUT", "/v1/checkpoint?id=a", "x"))["spent"]["milliseconds"], 2000)
      << "it was not told otherwise";
  // After a kill, the time that was recorded with a write is still there. A request that only reads records
  // no time.
  open(context);
  served_ms_ = 0;
  EXPECT_EQ(elapsed(), 1500);
  served_ms_ = 1000;
  grouped("GET", "/v1/steps", "");
  EXPECT_EQ(elapsed(), 2500);
  open(context);
  served_ms_ = 0;
  EXPECT_EQ(elapsed(), 1500);
  // A group that is rolled back also rolls back its time; the next group records that time.
  served_ms_ = 700;
  ASSERT_TRUE(api_->begin_group());
  ask("POST", "/v1/steps/begin", R"({"key":"b","kind":"pure","args_hash":"x"})");
  api_->roll_back();
  grouped("POST", "/v1/steps/begin", R"({"key":"b","kind":"pure","args_hash":"x"})");
  EXPECT_EQ(elapsed(), 2200) << "once";
  // An orderly end records the rest.
  served_ms_ = 900;
  api_->note_end();
  open(context);
  served_ms_ = 0;
  EXPECT_EQ(elapsed(), 2400);
}

TEST_F(ApiTest, AGroupThatIsTakenBackIsForgotten) {
  ASSERT_TRUE(api_->begin_group());
  EXPECT_EQ(json(ask("GET", "/v1/context", {}, "s1"))["session"], 1);
  api_->roll_back();
  EXPECT_EQ(json(ask("GET", "/v1/context", {}, "s2"))["session"], 1);
  EXPECT_EQ(json(ask("GET", "/v1/context", {}, "s1"))["session"], 2);
}

TEST_F(ApiTest, AnotherModelIsToldOnceASession) {
  EXPECT_EQ(ask("PUT", "/v1/checkpoint?id=a", "payload").status, 201);
  EXPECT_EQ(json(ask("GET", "/v1/context"))["resumed"], false);
  ask("GET", "/v1/checkpoint?id=a", {}, "s2");
  EXPECT_EQ(events("warm_restart"), 0);
  open({.key = {"run", "goal", "episode"}, .model = "large", .plan = "p1"});
  EXPECT_EQ(json(ask("GET", "/v1/context", {}, "s3"))["resumed"], true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("GET", "/v1/checkpoint?id=a", {}, "s3").body, "payload");
  EXPECT_EQ(events("warm_restart"), 1);
  const auto listed = json(ask("GET", "/v1/checkpoints?payload=true"))["checkpoints"][0];
  EXPECT_EQ(listed["changed"], Json::parse(R"(["model"])"));
  EXPECT_EQ(listed["payload"], to_base64("payload"));
}

// An agent that makes its id of random bits: the next process asks for another id.
TEST_F(ApiTest, ALoadThatFindsNothingBesideOthersNamesThem) {
  EXPECT_FALSE(json(ask("GET", "/v1/checkpoint?id=main-0-aa")).contains("known"))
      << "there is nothing at all";
  EXPECT_EQ(events("checkpoint_not_found"), 0);
  ask("PUT", "/v1/checkpoint?id=main-0-aa", "paid");
  ask("PUT", "/v1/checkpoint?id=main-0-aa", "paid more");
  ask("PUT", "/v1/checkpoint?id=review-0", "too");
  open({.key = {"run", "goal", "episode"}});
  for (int times = 0; times < 2; ++times) {
    const auto answer = ask("GET", "/v1/checkpoint?id=main-0-bb", {}, "s2");
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(json(answer)["known"], Json({"review-0", "main-0-aa"}));
    EXPECT_NE(text_in(json(answer), "detail").find("no checkpoint main-0-bb, but of review-0, main-0-aa"),
              std::string::npos)
        << answer.body;
  }
  EXPECT_EQ(details("checkpoint_not_found"),
            (std::vector<Json>{{{"id", "main-0-bb"}, {"known", "review-0, main-0-aa"}, {"session", 2}}}));
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("warning: there is no checkpoint main-0-bb, but of review-0, main-0-aa"),
            std::string::npos);
  EXPECT_EQ(events("resumed"), 0) << "nothing was loaded yet";
  ask("PUT", "/v1/checkpoint?id=main-0-bb", "paid again", "s2");
  EXPECT_EQ(details("resumed"), (std::vector<Json>{{{"session", 2}, {"loaded", ""}}}));
  // Neither another seq of an existing id nor a child that has not saved yet counts as a missing checkpoint.
  EXPECT_FALSE(json(ask("GET", "/v1/checkpoint?id=main-0-aa&seq=77", {}, "s2")).contains("known"));
  EXPECT_TRUE(json(ask("GET", "/v1/checkpoint?id=main-0%2F1.0", {}, "s2")).contains("known"));
  EXPECT_EQ(events("checkpoint_not_found"), 1);
}

TEST_F(ApiTest, AListThatFindsNothingBesideOthersNamesThem) {
  EXPECT_FALSE(json(ask("GET", "/v1/checkpoints?id=main-0-aa")).contains("known"))
      << "there is nothing at all";
  ask("PUT", "/v1/checkpoint?id=review-0", "too");
  for (int i = 0; i < 20; ++i) ask("PUT", "/v1/checkpoint?id=main-0-aa&keep=0", "paid");
  open({.key = {"run", "goal", "episode"}});
  for (const char* query : {"id=main-0-bb", "prefix=thread-7%2F", "prefix=thread-7%2F&payload=true"}) {
    const auto answer = json(ask("GET", "/v1/checkpoints?" + std::string(query), {}, "s2"));
    EXPECT_EQ(answer["checkpoints"], Json::array());
    EXPECT_EQ(answer["known"], Json({"main-0-aa", "review-0"})) << "a busy id hides no other";
  }
  EXPECT_EQ(details("checkpoint_not_found"),
            (std::vector<Json>{{{"id", "main-0-bb"}, {"known", "main-0-aa, review-0"}, {"session", 2}},
                               {{"id", "thread-7/"}, {"known", "main-0-aa, review-0"}, {"session", 2}}}));
  EXPECT_EQ(events("resumed"), 0) << "nothing was loaded";
  for (const char* query : {"", "id=main-0-aa", "id=main-0-aa&before=1", "prefix=main", "prefix=", "limit=1"})
    EXPECT_FALSE(json(ask("GET", "/v1/checkpoints?" + std::string(query), {}, "s2")).contains("known"))
        << query;
  EXPECT_TRUE(json(ask("GET", "/v1/checkpoints?id=main-0%2F1.0", {}, "s2")).contains("known"));
  EXPECT_EQ(events("checkpoint_not_found"), 2) << "a child that has not saved yet is not missing";
}

TEST_F(ApiTest, AChildOfAParentThatNoSessionKnewIsTold) {
  const auto spawn = [&](const std::string& parent, const std::string& session) {
    ask("POST", "/v1/children/spawn",
        R"({"parent":")" + parent + R"(","spawn_seq":1,"ordinal":0,"spec_hash":"h"})", session);
  };
  spawn("main-0-aa", "s1");
  spawn("review-0", "s1");
  open({.key = {"run", "goal", "episode"}});
  spawn("main-0-aa", "s2");
  spawn("new-0", "s2");
  EXPECT_EQ(events("checkpoint_not_found"), 0) << "this session makes the same ids";
  spawn("main-0-aa/1.0", "s3");
  EXPECT_EQ(events("checkpoint_not_found"), 0) << "a child of a child";
  spawn("main-0-bb", "s3");
  EXPECT_EQ(details("checkpoint_not_found"),
            (std::vector<Json>{{{"id", "main-0-bb/1.0"},
                                {"known", "main-0-aa/1.0, review-0/1.0, new-0/1.0, main-0-aa/1.0/1.0"},
                                {"session", 3}}}));
}

#ifdef PAWL_TEST_HOOKS
// With each of these mutants, an agent with random ids pays again, and no row says why.
TEST_F(ApiTest, WithoutItsDefenceAnIdThatIsNotThereIsSilent) {
  const auto next_process = [&](const char* bug, const std::string& id, const std::string& session) {
    g_mutant = bug;
    open({.key = {"run", "goal", "episode"}});
    const auto answer = ask("GET", "/v1/checkpoint?id=" + id, {}, session);
    g_mutant.clear();
    return answer;
  };
  ask("PUT", "/v1/checkpoint?id=main-0-aa", "paid");
  EXPECT_EQ(next_process("missing_checkpoints_untold", "main-0-bb", "s2").status, 404);
  EXPECT_EQ(events("checkpoint_not_found"), 0);
  EXPECT_EQ(next_process("resumed_without_a_load", "main-0-cc", "s3").status, 404);
  EXPECT_EQ(details("resumed"), (std::vector<Json>{{{"session", 3}, {"loaded", "main-0-aa"}}}));
  const auto other = next_process("another_checkpoint_loaded", "main-0-dd", "s4");
  EXPECT_EQ(other.status, 200);
  EXPECT_EQ(other.body, "paid");
  EXPECT_EQ(events("checkpoint_not_found"), 1) << "that of the second one";
}
#endif

TEST_F(ApiTest, WhatIsToldOfUnknownIdsIsBounded) {
  const std::string large(500, 'k');
  for (int i = 0; i < 40; ++i) ask("PUT", "/v1/checkpoint?id=" + large + std::to_string(i), "x");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(json(ask("GET", "/v1/checkpoint?id=other" + std::to_string(i), {}, "s2"))["known"].size(), 16U);
  EXPECT_EQ(events("checkpoint_not_found"), 16) << "of one process";
  for (const auto& told : details("checkpoint_not_found")) EXPECT_LE(text_in(told, "known").size(), 1100U);
  // A report that was rolled back with its group is made again.
  ASSERT_TRUE(api_->begin_group());
  ask("GET", "/v1/checkpoint?id=late", {}, "s3");
  api_->roll_back();
  EXPECT_EQ(events("checkpoint_not_found"), 16);
  ask("GET", "/v1/checkpoint?id=late", {}, "s3");
  EXPECT_EQ(events("checkpoint_not_found"), 17);
}

TEST_F(ApiTest, ResumedSaysWhatWasLoaded) {
  const auto again = [&](const std::function<void()>& takes) {
    open({.key = {"run", "goal", "episode"}});
    takes();
    const auto told = details("resumed");
    return told.empty() ? Json() : told.back();
  };
  const auto* begin = R"({"key":"k","kind":"pure","args_hash":"h"})";
  const auto* spawn = R"({"parent":"main-0","spawn_seq":1,"ordinal":0,"spec_hash":"x"})";
  ask("PUT", "/v1/checkpoint?id=main-0", "payload");
  ask("POST", "/v1/steps/begin", begin);
  ask("POST", "/v1/steps/complete", R"({"key":"k","result":1})");
  ask("POST", "/v1/children/spawn", spawn);
  ask("PUT", "/v1/question?key=q", R"({"question":"?"})");
  ask("POST", "/v1/answer", R"({"key":"q","answer":"yes","who":"me"})");
  EXPECT_EQ(again([&] { ask("GET", "/v1/context", {}, "a"); }), Json()) << "nothing was taken yet";
  EXPECT_EQ(again([&] {
              ask("GET", "/v1/context", {}, "b");
              ask("GET", "/v1/checkpoint?id=main-0", {}, "b");
              ask("POST", "/v1/steps/begin", begin, "b");
            }),
            Json({{"session", 3}, {"loaded", "main-0"}, {"seq", 1}}));
  EXPECT_EQ(again([&] { ask("GET", "/v1/checkpoints?payload=true", {}, "c"); }),
            Json({{"session", 4}, {"loaded", "main-0"}, {"seq", 1}}));
  EXPECT_EQ(again([&] { ask("POST", "/v1/steps/begin", begin, "d"); }),
            Json({{"session", 5}, {"step", "k"}}));
  EXPECT_EQ(again([&] { ask("POST", "/v1/children/spawn", spawn, "e"); }),
            Json({{"session", 6}, {"child", "main-0/1.0"}}));
  EXPECT_EQ(again([&] { ask("PUT", "/v1/question?key=q", R"({"question":"?"})", "f"); }),
            Json({{"session", 7}, {"question", "q"}}));
  EXPECT_EQ(again([&] {
              ask("GET", "/v1/context", {}, "g");
              api_->note_end();
            }),
            Json({{"session", 8}, {"loaded", ""}}));
  EXPECT_EQ(events("resumed"), 6);
}

TEST_F(ApiTest, MetadataMayHaveFractions) {
  const std::string good = to_base64(R"({"score":0.5,"n":[1]})");
  metadata_ = good;
  EXPECT_EQ(json(ask("PUT", "/v1/checkpoint?id=a", "x"))["metadata"],
            Json::parse(R"({"score":0.5,"n":[1]})"));
  for (const auto& bad : {to_base64("[]"), to_base64("{"), to_base64(R"({"a":1e999})"), std::string("{}"),
                          to_base64(R"({"a":")" + std::string(70'000, 'x') + R"("})")}) {
    metadata_ = bad;
    EXPECT_EQ(ask("PUT", "/v1/checkpoint?id=a", "x").status, 400) << bad.substr(0, 50);
  }
}

TEST_F(ApiTest, NothingIsSavedOnAFullDisk) {
  free_bytes_ = kFreeBytesMin - 1;
  EXPECT_EQ(ask("PUT", "/v1/checkpoint?id=a", "x").status, 507);
  EXPECT_EQ(ask("GET", "/v1/checkpoint?id=a").status, 404);
}

TEST_F(ApiTest, ASaveNeedsRoomForItsSizeTwice) {
  const std::string payload(1 << 20, 'x');
  free_bytes_ = kFreeBytesMin + (2 << 20) - 1;
  EXPECT_EQ(ask("PUT", "/v1/checkpoint?id=a", payload).status, 507);
  EXPECT_EQ(ask("PUT", "/v1/checkpoint?id=a", payload.substr(1)).status, 201);
  ++free_bytes_;
  EXPECT_EQ(ask("PUT", "/v1/checkpoint?id=a", payload).status, 201);
  // A body in chunks does not announce its size.
  const Call call{.route = *find_route("PUT", "/v1/checkpoint?id=b", true), .session = "s1"};
  const auto saving = *api_->begin_save(call, 0, kNow);
  ASSERT_TRUE(saving->append(payload + "x"));
  auto answer = api_->finish_save(call, *saving, kNow);
  EXPECT_EQ(answer.status, 507);
  EXPECT_EQ(answer.unsaved, kDiskFull);
  api_->settle(call, answer, kNow);
  EXPECT_EQ(room_needed_, free_bytes_ + 2) << "who stops the agent knows what it wants";
  EXPECT_EQ(ask("GET", "/v1/checkpoint?id=b").status, 404);
}

TEST_F(ApiTest, ADiskThatIsFullAfterAllIsNamed) {
  const pawl::testing::SmallDisk disk(folder_ / "agents", "20m");
  ASSERT_TRUE(disk.mounted()) << "needs root for a small tmpfs; CI runs as root";
  open({.key = {"run", "goal", "episode"}});
  ASSERT_TRUE(api_->begin_group(true));
  const auto answer = ask("PUT", "/v1/checkpoint?id=a", noise(30 << 20));
  EXPECT_FALSE(api_->commit());
  EXPECT_EQ(answer.status, 507);
  EXPECT_EQ(json(answer)["type"], "urn:pawl:no-space");
  EXPECT_EQ(answer.unsaved, kDiskFull);
  EXPECT_EQ(json(ask("GET", "/v1/context"))["stop"], false) << "it serves on";
  api_.reset();
}

TEST_F(ApiTest, LogLinesAreLinesAndBounded) {
  EXPECT_EQ(ask("POST", "/v1/log", R"({"message":"one\ntwo\u001b[2J","level":"warning"})").status, 204);
  EXPECT_EQ(log_, (std::vector<std::string>{"warning: one", "warning: two?[2J"}));
  int taken = 0;
  for (int i = 0; i < 1100; ++i) taken += ask("POST", "/v1/log", R"({"message":"x"})").status == 204 ? 1 : 0;
  EXPECT_EQ(taken, kLogLinesMax - 2);
  EXPECT_EQ(ask("POST", "/v1/log", R"({"message":"x"})").status, 429);
}

TEST_F(ApiTest, ALogLineMayBeEmpty) {
  EXPECT_EQ(ask("POST", "/v1/log", R"({"message":""})").status, 204);
  EXPECT_EQ(ask("POST", "/v1/log", R"({"message":"a\r\n\nb\rc\n"})").status, 204);
  const std::vector<std::string> expected = {"", "a", "", "b?c", ""};
  ASSERT_EQ(log_.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(log_[i].substr(log_[i].find(": ") + 2), expected[i]) << i;
}

TEST_F(ApiTest, QuestionsWaitForTheirAnswer) {
  EXPECT_EQ(ask("GET", "/v1/question?key=q").status, 404);
  EXPECT_EQ(ask("PUT", "/v1/question?key=q", R"({"question":"why?","choices":["a","b"]})").status, 200);
  EXPECT_EQ(ask("GET", "/v1/question?key=q&wait_ms=500").wait_ms, 500);
  EXPECT_EQ(ask("GET", "/v1/question?key=q&wait_ms=30001").status, 400);
  EXPECT_EQ(ask("POST", "/v1/answer", R"({"key":"q","answer":"c","who":"me"})").status, 400);
  EXPECT_EQ(json(ask("POST", "/v1/answer", R"({"key":"q","answer":"b","who":"me"})"))["answer"], "b");
  EXPECT_EQ(ask("POST", "/v1/answer", R"({"key":"q","answer":"a","who":"me"})").status, 409);
  const auto answered = ask("GET", "/v1/question?key=q&wait_ms=500");
  EXPECT_EQ(answered.wait_ms, 0);
  EXPECT_EQ(json(answered)["answer"], "b");
}

TEST_F(ApiTest, ChildrenAreOnes) {
  const auto* spawn = R"({"parent":"coder-0","spawn_seq":1,"ordinal":0,"spec_hash":"h"})";
  EXPECT_EQ(json(ask("POST", "/v1/children/spawn", spawn))["answer"], "start");
  EXPECT_EQ(json(ask("POST", "/v1/children/spawn", spawn, "s2"))["answer"], "resume");
  EXPECT_EQ(ask("POST", "/v1/children/finish", R"({"child_id":"coder-0/1.0","result":[1]})").status, 204);
  EXPECT_EQ(json(ask("POST", "/v1/children/spawn", spawn))["result"], Json::parse("[1]"));
  EXPECT_EQ(json(ask("GET", "/v1/children"))["children"][0]["state"], "done");
  EXPECT_EQ(json(ask("GET", "/v1/children?after=coder-0/1.0"))["children"].size(), 0U);
}

TEST_F(ApiTest, WhatWasLoadedBesideIsAnsweredOnce) {
  const std::string old_payload(3000, 'a'), new_payload(3000, 'b');
  ASSERT_EQ(ask("PUT", "/v1/checkpoint?id=a", old_payload).status, 201);
  ASSERT_EQ(ask("PUT", "/v1/checkpoint?id=a", new_payload).status, 201);
  const auto path = *episode_path(folder_.path(), {"run", "goal", "episode"});
  open({.key = {"run", "goal", "episode"}, .model = "large", .plan = "p1"});
  const auto call = [&](std::string_view target) {
    return Call{.route = *find_route("GET", target, true), .session = "s2"};
  };
  EXPECT_EQ(load_beside(path, call("/v1/checkpoint?id=a"), kNow)->payload, new_payload);
  EXPECT_FALSE(load_beside(path, call("/v1/checkpoint?id=b"), kNow)) << "there is none";
  EXPECT_FALSE(load_beside(path + "x", call("/v1/checkpoint?id=a"), kNow));

  Call asked = call("/v1/checkpoint?id=a");
  asked.loaded = std::make_shared<std::optional<Loaded>>(
      load_beside(path, call("/v1/checkpoint?id=a&seq=1"), kNow));  // not what load() itself would find
  EXPECT_EQ(api_->handle(asked, kNow).body, old_payload);
  EXPECT_EQ(events("warm_restart"), 1);
  EXPECT_EQ(api_->handle(asked, kNow).body, new_payload) << "again, when the group failed";

  // Only the episode itself reports damage, because only it may write.
  run_sql(path, "UPDATE chunks SET bytes = x'00' WHERE chunk = (SELECT MAX(chunk) FROM chunks)");
  EXPECT_FALSE(load_beside(path, call("/v1/checkpoint?id=a"), kNow));
  for (int i = 0; i < 1100; ++i) EXPECT_EQ(ask("GET", "/v1/checkpoint?id=a").body, old_payload);
  EXPECT_EQ(events("checkpoint_damaged"), 1);
  EXPECT_EQ(log_.front(), "warning: 1 newer checkpoint of a can't be read: loaded the one of seq 1");
  EXPECT_LE(log_.size(), 1000U) << "an agent may load as often as it likes";
}

TEST_F(ApiTest, WhatCanNotBeSavedIsRefused) {
  const auto answer = ask_in_vain("/v1/steps/begin", R"({"key":"k","kind":"effect","args_hash":"h"})");
  EXPECT_EQ(answer.status, 507);
  EXPECT_EQ(json(answer)["type"], "urn:pawl:no-space");
  EXPECT_EQ(unsaved_, std::vector<std::string>{std::string(kDiskFull)});
}

TEST_F(ApiTest, BestEffortGoesOnUnsavedAndSavesTheEndWithTheBeginning) {
  open({.key = {"run", "goal", "episode"}, .best_effort = true});
  const auto begun = ask_in_vain("/v1/steps/begin", R"({"key":"k","kind":"effect","args_hash":"h"})");
  EXPECT_EQ(begun.status, 202);
  EXPECT_EQ(begun.headers, "Pawl-Kept: no\r\n");
  EXPECT_EQ(json(begun)["answer"], "run");
  EXPECT_EQ(ask("POST", "/v1/steps/complete", R"({"key":"other","result":1})").status, 404);
  const auto still_full = ask_in_vain("/v1/steps/complete", R"({"key":"k","result":1})");
  EXPECT_EQ(still_full.status, 202);
  EXPECT_EQ(still_full.body, "{}");
  EXPECT_TRUE(journal_->steps("", 10)->empty());

  ASSERT_TRUE(api_->begin_group());
  EXPECT_EQ(ask("POST", "/v1/steps/complete", R"({"key":"k","result":1})").status, 204);
  ASSERT_TRUE(api_->commit());
  const auto steps = journal_->steps("", 10);
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ(steps->front().state, "done");
  EXPECT_EQ(steps->front().args_hash, "h");

  EXPECT_EQ(ask_in_vain("/v1/children/spawn", R"({"parent":"m-0","spawn_seq":1,"ordinal":0,"spec_hash":"c"})")
                .status,
            202);
  EXPECT_EQ(ask("POST", "/v1/children/finish", R"({"child_id":"m-0/1.0","result":2})").status, 204);
  EXPECT_EQ(journal_->children()->front().state, "done");
  EXPECT_EQ(unsaved_.size(), 3U);
}

TEST_F(ApiTest, WhatWasBegunUnsavedIsBegunAgainAfterTheServersDeath) {
  const Context best_effort{.key = {"run", "goal", "episode"}, .best_effort = true};
  const std::string begin = R"({"key":"k","kind":"effect","args_hash":"h"})",
                    end = R"({"key":"k","result":1})";
  open(best_effort);
  EXPECT_EQ(ask_in_vain("/v1/steps/begin", begin).status, 202);
  open(best_effort);
  EXPECT_EQ(ask("POST", "/v1/steps/complete", end, "s2").status, 404);
  const auto again = json(ask("POST", "/v1/steps/begin", begin, "s2"));
  EXPECT_EQ(again["answer"], "run") << "it is not lost: nobody knows of it";
  EXPECT_EQ(again["execution"], 1);
  EXPECT_EQ(events("step_lost"), 0);
  EXPECT_EQ(ask("POST", "/v1/steps/complete", end, "s2").status, 204);
}

TEST_F(ApiTest, BestEffortRefusesWhatNobodyCouldFind) {
  open({.key = {"run", "goal", "episode"}, .best_effort = true});
  const auto route = find_route("PUT", "/v1/question?key=q", true);
  const Call call{.route = *route, .session = "s1", .body = R"({"question":"why?"})"};
  ApiResponse answer{.unsaved = kIoError};
  api_->settle(call, answer, kNow);
  EXPECT_EQ(answer.status, 507);
}

}  // namespace
}  // namespace pawl::agent
