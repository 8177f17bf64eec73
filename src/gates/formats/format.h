// The interface of a file of these folders: FAMILY/NAME.cc defines `pawl::gates::formats::NAME`, a function
// of its family's type. CMakeLists.txt collects the files of the folders; no other file names them.
#pragma once

#include "gates/report.h"

namespace pawl::gates::formats {

using ReadTests = Result<Report>(ByteSource& report, const secrets::Redactor& redactor);
using ReadFindings = Result<Findings>(ByteSource& report, const secrets::Redactor& redactor);

}  // namespace pawl::gates::formats
