// pawl-engine: every command. `pawl` (front/main.cc) becomes this program for commands that no smaller
// program has, and for the help of all.
#include "cli/context.h"

int main(int argc, char** argv) {
  using namespace pawl::cli;
  return run_command_line(
      argc, argv, {add_run,   add_resume, add_status,  add_inspect, add_report,  add_why,    add_stats,
                   add_cost,  add_logs,   add_diff,    add_gate,    add_apply,   add_verify, add_attest,
                   add_check, add_export, add_gc,      add_fork,    add_approve, add_budget, add_retry,
                   add_skip,  add_cancel, add_migrate, add_sandbox, add_agentd,  add_answer, add_checkpoint});
}
