#include <cstdio>

#include "supervisor/supervisor.h"

int main(int argc, char** argv) {
  if (argc == 2) return pawl::supervisor::supervise(argv[1]);
  std::fprintf(stderr, "%s hosts one step for `pawl run`, which starts it; do not call it by hand.\n",
               argv[0]);
  return 2;
}
