// Shows a person how a run goes on. Each event is one line. A terminal also has one live line for each worker
// at the bottom, with the running step, its time and its last line of output. Without a terminal there are
// only the event lines, without escape codes. Thread-safe: workers share it.
#pragma once

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "executor/executor.h"

namespace pawl::cli {

class Progress {
 public:
  // Lines go to `out`. Live lines appear when it is a terminal.
  Progress(std::FILE* out, std::string folder);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void line(const Painted& text);
  // The same, unless `text` is the last line that was printed under `about`.
  void line_once(const std::string& about, const Painted& text);
  struct Running {
    std::string label;
    std::string sandbox_run_id;
    MonoTime since;
  };
  // Shows the step in the live line of `worker`, until end().
  void begin(int worker, Running running);
  void end(int worker);
  Painted paint(std::string_view text, Colour colour) const;  // in colour where a terminal shows it

 private:
  void draw_loop();
  void erase_live();  // REQUIRES: mutex_ held
  void draw_live();   // REQUIRES: mutex_ held
  Painted live_text(const Running& running, std::size_t columns) const;

  std::FILE* const out_;
  const std::string folder_;
  const bool terminal_;
  std::mutex mutex_;
  std::map<int, Running> running_;       // guarded by mutex_
  std::map<std::string, Painted> said_;  // last line by its topic; guarded by mutex_
  std::size_t drawn_ = 0;                // live lines on the screen; guarded by mutex_
  Painted screen_;  // text of the live lines: only a change is written; guarded by mutex_
  std::atomic<bool> over_{false};
  std::thread drawer_;
};

using Tiers = std::map<std::string, std::vector<store::TierRow>>;  // by run_id

// An executor's observer that reports to a Progress.
class ProgressReporter final : public executor::Observer {
 public:
  ProgressReporter(Progress& progress, int worker, Tiers tiers)
      : progress_(progress), worker_(worker), tiers_(std::move(tiers)) {}
  void claimed(const store::Claim& claim) override;
  void resumed(const store::Claim& claim, const store::ResumeDecision& decision) override;
  void step_started(const store::Claim& claim, const store::StepStart& start) override;
  void step_ended(const store::Claim& claim, const store::StepStart& start,
                  const sandbox::SandboxRun& run) override;
  void base_ran(const store::Claim& claim, const std::string& gate_id, const gates::OnBase& found) override;
  void budget_nears_its_end(const store::Claim& claim, const store::BudgetRow& budget) override;
  void judged_again(const store::Claim& claim, const std::vector<std::string>& beside) override;
  void attempt_ended(const store::Claim& claim, const store::AttemptEnd& end,
                     const store::Finished& finished) override;
  void stays_unsettled(const Error& error) override;
  void waits(const store::Claim& claim, const store::Wait& wait) override;

 private:
  Progress& progress_;
  const int worker_;
  const Tiers tiers_;
};

}  // namespace pawl::cli
