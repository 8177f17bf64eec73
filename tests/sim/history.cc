#include "sim/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "executor/executor.h"
#include "executor/reported.h"
#include "sim/attacker.h"
#include "sim/episodes.h"
#include "sim/invariants.h"
#include "sim/objects.h"
#include "sim/operators.h"
#include "sim/sandboxes.h"
#include "sim/scene.h"
#include "sim/sim_store.h"
#include "sim/world.h"

namespace pawl::sim {
namespace {

constexpr std::int64_t kEventsMax = 200;         // with faults; after them the run has to end
constexpr int kIdleTurnsMax = 30;                // in a row: it waits for an event that may never come
constexpr std::int64_t kQuietTurnsMax = 1000;    // 4000 histories need 229 at most
constexpr const char* kElsewhere = "elsewhere";  // the other host in an owner's name
constexpr int kNestedMax = 5;
constexpr std::int64_t kLeaseMs = 30'000;

class History {
 public:
  History(std::uint64_t seed, Machine& machine, const std::set<std::int64_t>& without)
      : without_(without),
        world_(seed),
        machine_(machine),
        attacker_(seed, world_, machine),
        episodes_(seed),
        store_(world_, machine),
        sandboxes_(world_, store_, episodes_),
        objects_(world_, sandboxes_) {}

  Reported run() {
    Reported reported;
    try {
      create();
      draw_rates();
      play(reported);
      if (world_.dice.percent(15) && go_on_from_a_fork()) play(reported);
    } catch (const Violation& violation) {
      reported.violation = violation.text;
    }
    reported.story = std::move(world_.story);
    reported.events = world_.events;
    reported.calls = world_.calls;
    reported.crashes = crashes_;
    reported.power_losses = power_losses_;
    reported.disturbances = disturbances_;
    return reported;
  }

 private:
  void create() {
    auto& dice = world_.dice;
    auto scene = draw_scene(dice);
    bounds_ = scene.bounds;
    phase_ids_ = std::move(scene.phase_ids);
    planned_ = scene.run;
    slots_ = 1 + dice.below(3);
    World::require(begin(std::move(scene.run)), "create_run");
    if (dice.percent(15)) sandboxes_.be_hopeless();  // no step succeeds, so the run uses all its attempts
    if (dice.percent(20)) hosts_ = 2;
    executors_.resize(static_cast<std::size_t>(1 + dice.below(dice.percent(20) ? 8 : 4)));
    world_.tell(fmt::format("{} executors on {} hosts, on\n{}", executors_.size(), hosts_, scene.plan));
  }

  // Creates a run of these rows, and resets everything that belonged to the old run. False when the store
  // refuses it.
  bool begin(store::NewRun run) {
    const auto now = world_.clock.wall();
    run.run.run_id = os::uuid7(now, world_.dice);
    run.run.created_at = rfc3339(now);
    for (auto& phase : run.phases) phase.run_id = run.run.run_id;
    if (!store_.create_run(run, now)) return false;
    run_id_ = run.run.run_id;
    reopened_if_found_ = false;
    for (auto& executor : executors_) executor.real.reset();  // each is for one run
    store_.forget_phases();
    sandboxes_.of_run(run_id_, bounds_.gate_steps, bounds_.agent_caps);
    sandboxes_.let_providers_refuse(bounds_.refused_percent);
    sandboxes_.let_agents_continue(bounds_.agents_continue, bounds_.go_on_after_failure);
    episodes_.of_run(run_id_);
    invariants_.emplace(store_, sandboxes_, run_id_);
    return true;
  }

  // Plays the run to its end: with faults first, then without.
  void play(Reported& reported) {
    world_.disturb = [this](const std::string& call) { disturb(call); };
    while (world_.events < events_max_ && idle_turns_ < kIdleTurnsMax && !over()) step_or_restart();
    quiet();
    count(reported);
  }

  // Records how near the run came to its bounds.
  void count(Reported& reported) {
    reported.steps += sandboxes_.started();
    for (const auto& phase : World::must(store_.phases(run_id_))) {
      const auto executions =
          static_cast<std::int64_t>(World::must(store_.steps(run_id_, phase.phase_id)).size());
      reported.attempts += phase.attempts_total;
      reported.attempts_percent =
          std::max(reported.attempts_percent, phase.attempts_total * 100 / bounds_.attempts());
      reported.executions_percent =
          std::max(reported.executions_percent, executions * 100 / bounds_.executions());
    }
  }

  // Forks the run at a random point and continues with the fork. False when there is no such point. The old
  // run must not change: it is compared again at the end.
  bool go_on_from_a_fork() {
    auto& dice = world_.dice;
    const std::string old_run = run_id_, old_rows = rows_of(old_run), phase_id = dice.one_of(phase_ids_);
    const auto attempts = World::must(store_.phase(old_run, phase_id)).attempts_total;
    auto forked = planned_;
    forked.fork = store::Fork{
        .from = {.run_id = old_run, .phase_id = phase_id, .attempt = 1 + dice.below(attempts + 1)},
        .who = {.uid = 1000, .reason = "another way"}};
    world_.disturb = [this](const std::string& call) { disturb(call); };
    bool begun = false;
    try {
      begun = begin(forked);
    } catch (const PowerLoss&) {
      restart();
    }
    if (!begun) {
      World::require(rows_of(old_run) == old_rows,
                     "a fork that failed wrote to the run that it was made from");
      return false;
    }
    world_.tell(fmt::format("a fork goes on before attempt {} of {}", forked.fork->from.attempt, phase_id));
    World::require(rows_of(old_run) == old_rows, "a fork wrote to the run that it was made from");
    World::require(layers_before(phase_id, run_id_) == layers_before(phase_id, old_run),
                   "a fork goes on from other layers");
    bounds_.retries = 0;
    bounds_.forked_from = phase_id;
    bounds_.replans_inherited = World::must(store_.phase(run_id_, phase_id)).replans;
    events_max_ = world_.events + kEventsMax;
    idle_turns_ = 0;
    forked_ = {old_run, old_rows};
    return true;
  }

  // The layers that the run accepted for phases before `phase_id`, in the order of their merge.
  std::vector<std::string> layers_before(const std::string& phase_id, const std::string& run_id) {
    const auto end = std::ranges::find(phase_ids_, phase_id);
    std::vector<std::string> out;
    for (const auto& layer : World::must(store_.accepted_layers(run_id)))
      if (std::find(phase_ids_.begin(), end, layer.phase_id) != end) out.push_back(layer.layer_id);
    return out;
  }

  // The rows of a run, as text.
  std::string rows_of(const std::string& run_id) {
    std::string out = canonical(Json(World::must(store_.cost_rows(run_id, 0))));
    out += canonical(Json(World::must(store_.usage_rows(run_id, 0))));
    for (const auto& phase : World::must(store_.phases(run_id)))
      out += fmt::format("{} {} {} {}\n", phase.phase_id, static_cast<int>(phase.state), phase.fence,
                         phase.attempts_total);
    for (const auto& chain : World::must(store_.chains(run_id)))
      for (const auto& row : World::must(store_.ledger(run_id, chain, 1, kRowsMax))) out += row.hash;
    return out;
  }

  bool over() { return World::must(store_.run(run_id_)).state != store::RunState::kExecuting; }

  void step_or_restart() {
    try {
      step();
    } catch (const PowerLoss&) {
      restart();
    }
  }

  // After a power loss all processes and all unsynced data are gone. All acknowledged data is there.
  void restart() {
    ++power_losses_;
    sandboxes_.lose_power();
    for (std::size_t i = 0; i < executors_.size(); ++i)
      if (executors_[i].real) end(i, " is gone with the power");
    const bool all_arrived = world_.dice.percent(30);
    machine_.restart(all_arrived, Dice(world_.dice.next()));
    attacker_.act(run_id_);
    world_.clock.reboot();
    world_.clock.advance_ms(world_.dice.below(2 * kLeaseMs));
    store_.touch(phase_ids_);
    if (std::exchange(reopened_if_found_, false)) reopened_ = phase_ids_;
    check();
  }

  // One turn of a random idle executor.
  void step() {
    std::vector<std::size_t> idle;
    for (std::size_t i = 0; i < executors_.size(); ++i)
      if (!executors_[i].busy) idle.push_back(i);
    if (idle.empty()) return;
    turn(world_.dice.one_of(idle));
    check();
  }

  struct Executor {
    std::unique_ptr<executor::Executor> real;
    std::int64_t incarnation = 0;
    std::string boot;  // the boot of its incarnation
    bool busy = false;
  };

  std::string owner_of(std::size_t index) const {
    const auto& mine = executors_[index];
    const auto* const host = index % 2 == 0 && hosts_ == 2 ? kElsewhere : "host";
    return fmt::format("{}/{}/{}/{}", host, mine.boot, index, mine.incarnation);
  }

  std::optional<executor::Turn> turn(std::size_t index) {
    auto& mine = executors_[index];
    if (!mine.real) start(index);
    mine.busy = true;
    stack_.push_back(index);
    const std::string interrupted = std::exchange(world_.current, owner_of(index));
    const auto leave = [&] {
      world_.current = interrupted;
      stack_.pop_back();
      mine.busy = false;
    };
    std::optional<executor::Turn> out;
    try {
      auto turn = mine.real->run_one();
      if (turn) {
        out = *std::move(turn);
      } else {
        // The executor reported the disk's error and ended.
        const auto kind = turn.error().kind;
        World::require(kind == ErrorKind::kUnavailable || kind == ErrorKind::kExhausted ||
                           kind == ErrorKind::kIndeterminate,
                       "run_one: " + turn.error().message);
        end(index, " ends: " + turn.error().message);
      }
    } catch (const Crash&) {
      end(index, " crashes");
      ++crashes_;
    } catch (const PowerLoss&) {
      leave();
      throw;
    }
    leave();
    if (out && out->kind == executor::Turn::Kind::kNothing)
      idle();
    else
      idle_turns_ = 0;
    return out;
  }

  // Inside another executor's call only little time passes. When all executors are idle, much time passes.
  void idle() {
    if (!stack_.empty()) return world_.clock.advance_ms(200);
    ++idle_turns_;
    world_.clock.advance_ms(world_.dice.one_of<std::int64_t>({200, 2'000, 20'000}));
  }

  void end(std::size_t index, const std::string& how) {
    world_.tell(owner_of(index) + how);
    world_.dead_owners.insert(owner_of(index));
    executors_[index].real.reset();
  }

  void start(std::size_t index) {
    auto& mine = executors_[index];
    ++mine.incarnation;
    mine.boot = world_.clock.mono_id();
    executor::Options options{.folder = "/sim",
                              .run_ids = {run_id_},
                              .owner = owner_of(index),
                              .lease_ms = kLeaseMs,
                              .plans = plans_,
                              .slots = std::make_shared<executor::Slots>(slots_)};
    // Whether an owner on another host is dead is unknown.
    options.owner_is_dead = [this, mine = owner_of(index)](std::string_view owner) {
      const auto elsewhere = [](std::string_view name) { return name.starts_with(kElsewhere); };
      return elsewhere(owner) == elsewhere(mine) && world_.dead_owners.contains(std::string(owner));
    };
    mine.real = std::make_unique<executor::Executor>(world(), options, observer_);
  }

  // Called between any two calls of an executor; most of the time no event happens.
  void disturb(const std::string& call) {
    if (stack_.empty() || world_.events >= events_max_) return;
    if (call.starts_with("after") || call == "claimed") check();
    const auto what = world_.dice.below(1000);
    std::int64_t below = 0;
    const auto drawn =
        std::ranges::find_if(rates_, [&](const auto& rate) { return what < (below += rate.second); });
    if (drawn != rates_.end() && !without_.contains(disturbances_++)) happen(drawn->first, call);
  }

  enum class Event { kCrash, kPowerLoss, kKill, kDamage, kTimePasses, kClockJumps, kOperator, kAnother };

  // Each history has its own rates of events, in thousandths of the calls. Events that never happen in one
  // history let the others go deeper ("swarm testing", Groce et al., 2012).
  void draw_rates() {
    const auto draw = [&](Event event, const std::vector<std::int64_t>& rates) {
      rates_.emplace_back(event, world_.dice.one_of(rates));
    };
    draw(Event::kCrash, {0, 5, 25});
    draw(Event::kPowerLoss, {0, 1, 5});
    draw(Event::kKill, {0, 5, 20});
    draw(Event::kDamage, {0, 0, 3});
    draw(Event::kTimePasses, {5, 15});
    draw(Event::kClockJumps, {0, 5});
    draw(Event::kOperator, {0, 3, 30});
    draw(Event::kAnother, {50, 110});
  }

  void happen(Event event, const std::string& call) {
    auto& dice = world_.dice;
    switch (event) {
      case Event::kCrash:
        world_.tell("crash at: " + call);
        throw Crash{};
      case Event::kPowerLoss:
        world_.tell("the power fails at: " + call);
        machine_.disk().fail_power();
        throw PowerLoss{};
      case Event::kKill:
        sandboxes_.kill_one();
        return;
      case Event::kDamage:
        return sandboxes_.damage_one();
      case Event::kTimePasses:
        world_.clock.advance_ms(dice.below(2 * kLeaseMs));
        return world_.tell("time passes");
      case Event::kClockJumps:
        world_.clock.jump_ms((dice.percent(50) ? 1 : -1) * dice.below(7'200'000));
        return world_.tell("the wall clock jumps");
      case Event::kOperator:
        return operate();
      case Event::kAnother:
        if (stack_.size() < kNestedMax) step();
        return;
    }
  }

  // As the command line, whose open steps end later. A command that reported a failure may have changed rows.
  void operate() {
    auto& dice = world_.dice;
    if (dice.percent(20)) return change_budgets();
    if (dice.percent(15)) return change_max_attempts();
    if (dice.percent(15)) return let_go_on(store_, run_id_, world_);
    const std::string phase = dice.percent(80) ? dice.one_of(phase_ids_) : "";
    const store::Operator who{.uid = 1000, .reason = "because", .isolation_class = "shared_kernel"};
    const auto now = world_.clock.wall();
    const auto what = dice.below(4);
    const char* const words[] = {"retry", "skip", "cancel", "approve"};
    if (what != 2) ++bounds_.retries;  // these commands queue phases that were stopped
    reopened_ = phase_ids_;
    const bool has_ended = !ended_phases(store_, run_id_, phase).empty();
    auto changed = what == 0   ? store_.operator_retry(run_id_, phase, who, now)
                   : what == 1 ? store_.operator_skip(run_id_, phase, who, now)
                   : what == 2 ? store_.operator_cancel(run_id_, phase, who, now)
                               : approve(who);
    if (!changed) {
      World::require(what != 0 || !has_ended || changed.error().kind != ErrorKind::kInvalid,
                     "a phase that ended can't be retried");
      reopened_if_found_ = true;
      return;
    }
    reopened_ = *changed;
    world_.tell(fmt::format("an operator says {} {}", words[what], fmt::join(*changed, " ")));
    check();
    if (dice.percent(80)) static_cast<void>(executor::settle_ended_steps(world()));  // or is killed
  }

  void change_max_attempts() {
    const std::int64_t most = 1 + world_.dice.below(6);
    bounds_.max_attempts = std::max(bounds_.max_attempts, most);
    if (store_.operator_max_attempts(run_id_, most, {.uid = 1000, .reason = "because"}, world_.clock.wall()))
      world_.tell(fmt::format("an operator says {} attempts at most", most));
  }

  executor::World world() {
    return {store_,       sandboxes_,  sandboxes_,          objects_,
            world_.clock, world_.dice, machine_.redactor(), episodes_};
  }

  // Approves a phase that ended without being accepted; sometimes with an attempt that is not its newest.
  Result<std::vector<std::string>> approve(const store::Operator& who) {
    const auto ended = ended_phases(store_, run_id_, "");
    if (ended.empty()) return fail(ErrorKind::kInvalid, "nothing to approve");
    const auto phase = world_.dice.one_of(ended);
    const auto attempts = World::must(store_.attempts(run_id_, phase.phase_id));
    if (attempts.empty()) return fail(ErrorKind::kInvalid, "its work is another run's");  // a fork shares it
    const bool newest = world_.dice.percent(90) || attempts.size() == 1;
    const auto& attempt = newest ? attempts.back() : attempts.front();
    const auto overlaps = [this](const std::string& a, const std::string& b) {
      return !objects_.overlap(a, b, 1)->empty();
    };
    auto approved = store_.operator_approve(
        run_id_, {.phase_id = phase.phase_id, .attempt_id = attempt.attempt_id, .layer = attempt.agent_layer},
        overlaps, who, world_.clock.wall());
    World::require(approved || !newest || may_refuse(store_, objects_, attempt, approved.error().kind),
                   "a phase that ended can't be approved");
    return approved;
  }

  // Raises or lowers the caps, perhaps below the spent amount. `raised`: only raises, for a run that waits.
  void change_budgets(bool raised = false) {
    auto& dice = world_.dice;
    const bool lower = !raised && dice.percent(30);
    invariants_->budgets_may_change();
    for (const auto& row : World::must(store_.budgets(run_id_))) {
      if (!row.cap) continue;
      const std::int64_t most = row.unit == store::kSandboxMs  ? 4 * kStepSeconds * 1000
                                : row.unit == store::kUsdNanos ? kMicrosMax * 1000
                                                               : kTokensMax;
      const std::int64_t cap = lower ? dice.below(*row.cap + 1) : *row.cap + dice.below(most);
      if (store_.operator_budget(run_id_, row.unit, cap, {.uid = 1000, .reason = "because"},
                                 world_.clock.wall()))
        world_.tell(fmt::format("an operator sets the budget to {} {}", cap, row.unit));
    }
  }

  // Skipped while the disk has no new write, because the rows are then the same.
  void check() {
    if (std::exchange(writes_checked_, machine_.disk().writes()) == machine_.disk().writes()) return;
    invariants_->check(bounds_, store_.take_touched(), std::exchange(reopened_, {}));
  }

  // No more faults: whatever happened, the run ends within a bound.
  void quiet() {
    world_.disturb = nullptr;
    sandboxes_.let_providers_refuse(0);
    std::string waits_for;
    for (std::int64_t turns = 0; !over(); ++turns) {
      World::require(turns < kQuietTurnsMax, "the run does not end: " + waits_for);
      const auto index = static_cast<std::size_t>(turns) % executors_.size();
      const auto done = turn(index);
      if (!done || done->kind != executor::Turn::Kind::kNothing) continue;
      waits_for = done->waits_for;
      World::require(done->not_claimable != store::NotClaimable::kStalled, "stalled: " + done->waits_for);
      if (done->not_claimable == store::NotClaimable::kBudget) change_budgets(true);
      if (done->not_claimable == store::NotClaimable::kPerson) let_go_on(store_, run_id_, world_);
      world_.clock.advance_ms(done->not_claimable == store::NotClaimable::kNotBefore ? 600'000 : 10'000);
    }
    const auto paid = executor::settle_ended_steps(world());
    World::require(paid.has_value(), "what an agent reported last can't be written down");
    check();
    invariants_->check_end(sandboxes_, episodes_, objects_);
    if (!forked_.first.empty())
      World::require(rows_of(forked_.first) == forked_.second,
                     "a fork wrote to the run that it was made from");
    // Only a crash of its watcher may leave an unwanted step running; that step ends with its time budget.
    const auto unwatched = sandboxes_.unwatched();
    World::require(unwatched.empty(),
                   fmt::format("what an operator ended runs on: {}", fmt::join(unwatched, " ")));
  }

  const std::set<std::int64_t>& without_;
  std::int64_t disturbances_ = 0;  // so far, including those that are left out
  World world_;
  Machine& machine_;
  Attacker attacker_;
  SimEpisodes episodes_;
  SimStore store_;
  SimSandboxes sandboxes_;
  SimObjects objects_;
  executor::Observer observer_;
  const std::shared_ptr<executor::Plans> plans_ = std::make_shared<executor::Plans>();
  store::NewRun planned_;
  std::string run_id_;
  std::pair<std::string, std::string> forked_;  // the run that was forked, and its rows
  std::int64_t events_max_ = kEventsMax;
  std::vector<std::string> phase_ids_, reopened_;  // reopened_: perhaps, by an operator, since the check
  bool reopened_if_found_ = false;  // an unsynced commit of a command that reported a failure may reopen
  Bounds bounds_;
  std::optional<Invariants> invariants_;
  std::vector<Executor> executors_;
  int hosts_ = 1;
  std::int64_t slots_ = 1;  // per executor
  std::vector<std::pair<Event, std::int64_t>> rates_;
  int idle_turns_ = 0;              // in a row
  std::vector<std::size_t> stack_;  // executors that are in the middle of a call
  std::int64_t crashes_ = 0, power_losses_ = 0, writes_checked_ = 0;
};

}  // namespace

Reported run_history(std::uint64_t seed, Machine& machine, const std::set<std::int64_t>& without) {
  return History(seed, machine, without).run();
}

}  // namespace pawl::sim
