// Functions of glibc that libraries and our own code refer to, and that no static program calls: c-ares looks up
// services by name, SQLite loads extensions, and pawl-engine asks for a user's home in files that are compiled
// together with those of pawl-reader. In a static program glibc's own would load shared libraries at run time, and
// the linker warns of that. These are linked instead (ld's --wrap), and fail as the manual pages say. No option hides
// the warnings: it would hide undefined references, too.
#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <stddef.h>

struct servent* __wrap_getservbyname(const char* name, const char* protocol) {
  (void)name;
  (void)protocol;
  return NULL;
}

int __wrap_getservbyport_r(int port, const char* protocol, struct servent* entry, char* buffer, size_t size,
                           struct servent** result) {
  (void)port;
  (void)protocol;
  (void)entry;
  (void)buffer;
  (void)size;
  *result = NULL;
  return ENOENT;
}

void* __wrap_dlopen(const char* file, int mode) {
  (void)file;
  (void)mode;
  return NULL;
}

struct passwd* __wrap_getpwuid(uid_t user) {
  (void)user;
  return NULL;
}
