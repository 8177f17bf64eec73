// LibraryNames of files by which a program finds its runner or its library. A name that ends in "*" stands for all
// names with this beginning; another '*' stays inside one component. A detail of this folder.
#pragma once

#include <span>
#include <string_view>

namespace pawl::gates {

using LibraryNames = std::span<const std::string_view>;

LibraryNames node_runners();        // packages
LibraryNames perl_modules();        // below a folder of modules
LibraryNames ruby_files();          // below a folder of sources
LibraryNames scanner_rule_files();  // files that tell scanners which findings to leave out
LibraryNames framework_headers();   // headers of test frameworks, and headers with which C tests judge
LibraryNames c_headers();           // headers of C and POSIX
LibraryNames cxx_headers();         // without `version`, a usual name of other files
LibraryNames java_packages();       // folders

}  // namespace pawl::gates
