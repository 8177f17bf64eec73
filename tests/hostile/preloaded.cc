// A library that prints a line when it is loaded.
#include <unistd.h>

namespace {
__attribute__((constructor)) void say_so() { static_cast<void>(write(STDOUT_FILENO, "loaded\n", 7) == 7); }
}  // namespace
