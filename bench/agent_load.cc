// A plain client of an agent's socket that runs as many journaled steps as it can. Prints one JSON object.
//   agent_load SOCKET CONNECTIONS SECONDS
// A step is begun and completed; each response comes when the change is durable. CONNECTIONS steps are in
// flight, one per connection.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

std::string request(const char* path, const std::string& body) {
  return std::string("POST ") + path +
         " HTTP/1.1\r\nHost: pawl\r\nPawl-Session: load\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

struct Client {
  int fd = -1;
  int number = 0, step = 0;
  bool begins = true;
  Clock::time_point asked;
  std::string got;

  void ask() {
    const std::string key =
        std::to_string(getpid()) + "-" + std::to_string(number) + "-" + std::to_string(step);
    const std::string text =
        begins
            ? request("/v1/steps/begin",
                      R"({"key":")" + key + R"(","kind":"effect","args_hash":"0123456789abcdef"})")
            : request("/v1/steps/complete", R"({"key":")" + key + R"(","result":{"ok":true,"text":"done"}})");
    asked = Clock::now();
    if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
      give_up("send");
  }
  // Whether the response is complete now.
  bool read_answer() {
    char buffer[4096];
    const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
    if (size <= 0) give_up("recv");
    got.append(buffer, static_cast<std::size_t>(size));
    const auto head = got.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const bool empty = got.compare(9, 3, "204") == 0;
    if (!empty && got.compare(9, 3, "200") != 0) give_up(got.c_str());
    if (!empty) {
      const auto length = std::strtoul(got.c_str() + got.find("Content-Length: ") + 16, nullptr, 10);
      if (got.size() < head + 4 + length) return false;
    }
    got.clear();
    return true;
  }
};

int connect_to(const char* path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("connect");
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int connections = std::atoi(argv[2]);
  std::vector<Client> clients(static_cast<std::size_t>(connections));
  std::vector<pollfd> polled;
  for (int i = 0; i < connections; ++i) {
    auto& client = clients[static_cast<std::size_t>(i)];
    client.fd = connect_to(argv[1]);
    client.number = i;
    polled.push_back({client.fd, POLLIN, 0});
  }
  std::vector<double> latencies_us;
  const auto started = Clock::now();
  const auto end = started + std::chrono::milliseconds(static_cast<long>(std::atof(argv[3]) * 1000));
  for (auto& client : clients) client.ask();
  long steps = 0;
  while (Clock::now() < end) {
    if (poll(polled.data(), polled.size(), 30'000) <= 0) give_up("poll");
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0 || !clients[i].read_answer()) continue;
      auto& client = clients[i];
      latencies_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - client.asked).count());
      if (!client.begins) {
        ++steps;
        ++client.step;
      }
      client.begins = !client.begins;
      client.ask();
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  std::sort(latencies_us.begin(), latencies_us.end());
  const auto at = [&](double part) {
    return latencies_us.empty()
               ? 0.0
               : latencies_us[static_cast<std::size_t>(part * static_cast<double>(latencies_us.size() - 1))];
  };
  std::printf("{\"steps_per_s\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
              static_cast<double>(steps) / seconds, at(0.5), at(0.99));
  return 0;
}
