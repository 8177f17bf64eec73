// Hostile programs that take more of the machine than their share.
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "hostile/attacks.h"

namespace pawl::hostile {
namespace {

bool forks(int count) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      pause();
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  return static_cast<int>(children.size()) == count;
}

// Writes, then stays alive: the watcher looks a few times a second.
bool fills(int fd, std::size_t mib) {
  const std::string block(1 << 20, 'x');
  for (std::size_t i = 0; i < mib; ++i)
    if (write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return false;
  sleep(1);
  return true;
}

int number_in(const char* path) {
  int out = 0;
  std::ifstream(path) >> out;
  return out;
}

}  // namespace

std::map<std::string, Attack> attacks_on_limits() {
  return {
      {"fork_bomb", [](auto&) { return forks(300); }},
      {"zombie_storm",
       [](auto&) {  // no process waits for them
         int made = 0;
         for (pid_t child = 0; made < 300 && (child = fork()) >= 0; ++made)
           if (child == 0) _exit(0);
         return made == 300;
       }},
      {"thread_bomb",
       [](auto&) {
         int made = 0;
         for (pthread_t thread{}; made < 300; ++made)
           if (pthread_create(
                   &thread, nullptr, [](void*) -> void* { return pause(), nullptr; }, nullptr) != 0)
             break;
         return made == 300;
       }},
      {"memory_bomb",
       [](auto&) {
         for (int i = 0; i < 256; ++i) {
           void* block = malloc(1 << 20);
           if (block == nullptr) return false;
           std::memset(block, i + 1, 1 << 20);
         }
         usleep(200'000);
         return true;
       }},
      {"disk_fill", [](auto& path) { return fills(open(path.c_str(), O_WRONLY | O_CREAT, 0600), 64); }},
      {"nameless_fill",
       [](auto& folder) {
         const std::string path = folder + "/x";
         const std::string block(4 << 20, 'x');
         for (int i = 0; i < 16; ++i) {  // each file stays open
           const int fd = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
           if (fd < 0 || unlink(path.c_str()) != 0 ||
               write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
             return false;
         }
         sleep(1);
         return true;
       }},
      {"unreadable_fill",
       [](auto& folder) {
         const std::string below = folder + "/unreadable";
         if (mkdir(below.c_str(), 0700) != 0) return false;
         const int fd = open((below + "/x").c_str(), O_WRONLY | O_CREAT, 0600);
         return chmod(below.c_str(), 0) == 0 && fills(fd, 64);
       }},
      {"inode_fill",
       [](auto& folder) {
         for (int i = 0; i < 6000; ++i)
           if (mknod((folder + "/" + std::to_string(i)).c_str(), S_IFREG | 0600, 0) != 0) return false;
         sleep(1);
         return true;
       }},
      {"output_flood",
       [](auto&) {
         const std::string block(1 << 16, 'x');
         for (int i = 0; i < 128; ++i)
           if (write(1, block.data(), block.size()) <= 0) return false;
         return true;
       }},
      {"outlive_the_budget",
       [](auto&) {
         signal(SIGTERM, SIG_IGN);
         sleep(4);
         return true;
       }},
      {"many_files",
       [](auto&) {
         rlimit limit{};
         getrlimit(RLIMIT_NOFILE, &limit);
         limit.rlim_cur = limit.rlim_max;
         setrlimit(RLIMIT_NOFILE, &limit);
         int opened = 0;
         while (opened < 18'000 && open("/dev/null", O_RDONLY) >= 0) ++opened;
         return opened == 18'000;
       }},
      // --- resources that the kernel counts by user: half of the total, so that two programs leave none
      {"inotify_instances",
       [](auto&) {
         const int half = number_in("/proc/sys/fs/inotify/max_user_instances") / 2;
         int made = 0;
         while (made < half && inotify_init1(0) >= 0) ++made;
         return made == half;
       }},
      {"timers",
       [](auto& count) {
         const int wanted = std::atoi(count.c_str());
         int made = 0;
         sigevent event{};
         event.sigev_notify = SIGEV_SIGNAL;
         event.sigev_signo = SIGUSR1;
         for (timer_t timer{}; made < wanted && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;) ++made;
         return made == wanted;
       }},
      {"queued_signals",
       [](auto& count) {
         const int wanted = std::atoi(count.c_str());
         sigset_t held;
         sigemptyset(&held);
         sigaddset(&held, SIGRTMIN);
         sigprocmask(SIG_BLOCK, &held, nullptr);
         int sent = 0;
         while (sent < wanted && sigqueue(getpid(), SIGRTMIN, {}) == 0) ++sent;
         return sent == wanted;
       }},
      {"message_queues",
       [](auto&) {
         int made = 0;
         for (; made < 5; ++made) {
           const std::string name = "/pawl." + std::to_string(getpid()) + "." + std::to_string(made);
           if (mq_open(name.c_str(), O_CREAT | O_RDWR, 0600, nullptr) < 0) break;
           mq_unlink(name.c_str());  // the queue still takes its memory
         }
         return made == 5;
       }},
      {"core_dump",
       [](auto&) {
         rlimit limit{};
         getrlimit(RLIMIT_CORE, &limit);
         return limit.rlim_max > 0;
       }},
  };
}

}  // namespace pawl::hostile
