// AddressSanitizer asks a program for its defaults; ASAN_OPTIONS comes after them.

extern "C" const char*
__asan_default_options();  // NOLINT(bugprone-reserved-identifier): its name in the runtime

// A check of UndefinedBehaviorSanitizer that fails is an illegal instruction: it ends with a report of its
// place.
extern "C" const char* __asan_default_options() { return "handle_sigill=1"; }

extern "C" const char*
__lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier): its name in the runtime

// libgit2 1.5 leaks the expression for the names of extensions, a few kilobytes each time it opens a
// repository with extensions.
extern "C" const char* __lsan_default_suppressions() { return "leak:libpcre2-8\n"; }
