// AddressSanitizer asks a program for its defaults; ASAN_OPTIONS comes after them.

extern "C" const char*
__asan_default_options();  // NOLINT(bugprone-reserved-identifier): its name in the runtime

// A check of UndefinedBehaviorSanitizer that fails is an illegal instruction: it ends with a report of its
// place.
extern "C" const char* __asan_default_options() { return "handle_sigill=1"; }
