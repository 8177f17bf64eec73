#include "sandbox/namespace/handover.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace pawl::sandbox {
namespace {

struct Note {
  HandOver what;
  std::uint32_t index;
};

struct Message {
  explicit Message(Note& note) : part{&note, sizeof note} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

}  // namespace

bool hand_over(int socket, HandOver what, std::size_t index, int fd) {
  Note note{what, static_cast<std::uint32_t>(index)};
  Message message(note);
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  return sendmsg(socket, &message.header, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof note);
}

std::optional<Handed> take_over(int socket, Waiting waiting) {
  Note note{};
  Message message(note);
  const int flags = MSG_CMSG_CLOEXEC | (waiting == Waiting::kNot ? MSG_DONTWAIT : 0);
  ssize_t got = 0;
  do got = recvmsg(socket, &message.header, flags);
  while (got < 0 && errno == EINTR);
  const cmsghdr* rights = got > 0 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return std::nullopt;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  Handed handed{.what = note.what, .index = note.index, .fd = os::UniqueFd(fd)};
  if (got != static_cast<ssize_t>(sizeof note)) return std::nullopt;
  return handed;
}

bool send_rename(int socket, const AskedRename& asked) {
  return send(socket, &asked, sizeof asked, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof asked;
}

bool take_rename(int socket, AskedRename& asked) {
  ssize_t got = 0;
  do got = recv(socket, &asked, sizeof asked, MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  return got == sizeof asked;
}

}  // namespace pawl::sandbox
