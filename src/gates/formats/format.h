// What a file of this folder gives: NAME.cc defines `pawl::gates::formats::NAME`. CMakeLists.txt lists the
// files, so nothing else names them.
#pragma once

#include "gates/test_report.h"

namespace pawl::gates::formats {

using Read = Result<Tests>(ByteSource& report);

}  // namespace pawl::gates::formats
