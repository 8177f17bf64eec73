// The columns of the tables whose rows are read whole. One list for each table makes the text of its statements and
// the reader of its rows.
//
// `{TABLE}` in a statement stands for the columns of the table: runs, phases, attempts or steps. Such a row
// begins at the first column of the statement's result.
#pragma once

#include <string>
#include <string_view>

#include "store/database.h"
#include "store/rows.h"

namespace pawl::store {

// The statements of a file, with each `{TABLE}` replaced: `{runs}` becomes "runs.run_id, runs.workflow_id",
// and so on. An unknown name aborts.
std::string with_columns(std::string_view statements);

// The row that `query` is at. kForged: a column has a value that Pawl does not write.
Result<RunRow> read_run(const Query& query);
Result<PhaseRow> read_phase(const Query& query);
Result<AttemptRow> read_attempt(const Query& query);
Result<StepRow> read_step(const Query& query);

// The number of the first column after the columns of a step.
int columns_of_step();

}  // namespace pawl::store
