// The interface of a file of these folders: FAMILY/NAME.cc defines `pawl::gates::formats::NAME`. In tests/ it is a
// ReadTests, in analysis/ and vulnerabilities/ a ReadFindings; gates/report.cc declares it so. CMakeLists.txt collects
// the files. No other source lists all names. docs/plan.schema.json has them; the test plan.Schema compares.
#pragma once

#include "gates/report.h"

namespace pawl::gates::formats {

using ReadTests = Result<Report>(ByteSource& report, const secrets::Redactor& redactor);
using ReadFindings = Result<Findings>(ByteSource& report, const secrets::Redactor& redactor);

}  // namespace pawl::gates::formats
