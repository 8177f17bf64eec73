// The server with an application of its own, over real sockets.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "http/http.h"
#include "http/socket_path.h"

namespace pawl::http {
namespace {

constexpr std::size_t kBodyMax = 1 << 20;

// Responds with the body, or with the field Word. "/later" waits until another request is "/now".
class Echo final : public Exchange {
 public:
  Echo(Loop& loop, std::int64_t& nows) : loop_(loop), nows_(nows) {}

  void take_field(std::string_view name, std::string_view value) override {
    if (name == "Word") word_ = value;
  }
  std::optional<Response> accept(const Head& head) override {
    method_ = head.method;
    target_ = head.target;
    return target_ == "/no" ? std::optional(Response{.status = 404, .body = "no"}) : std::nullopt;
  }
  std::size_t body_bytes_max() const override { return method_ == "POST" ? kBodyMax : 0; }
  Response body_too_large() const override { return {.status = 413, .body = "large"}; }

  std::optional<Response> begin_large_body(std::size_t, std::size_t most) override {
    place_.resize(most);
    return std::nullopt;
  }
  std::span<char> place(std::size_t bytes_max) override {
    return std::span<char>(place_).first(std::min(place_.size(), bytes_max));
  }
  Status append(std::string_view bytes) override {
    body_ += bytes;
    return {};
  }
  Response append_failed(const Error&) override { return {.status = 507}; }
  void discard_body() override { place_.clear(); }
  std::move_only_function<void()> work_after_body() override {
    if (place_.empty()) return nullptr;
    return [this] { std::ranges::reverse(body_); };
  }

  std::size_t response_bytes() override { return body_.size(); }
  std::move_only_function<void()> work_before_response(std::size_t) override { return nullptr; }
  void respond(std::move_only_function<void()> done) override {
    if (target_ == "/now") ++nows_;
    waits_ = target_ == "/later" && nows_ == 0;
    loop_.post(std::move(done));
    if (target_ == "/now") loop_.retry([](const Exchange& one) { return one.wait_ms() > 0; });
  }
  std::int64_t wait_ms() const override { return waits_ ? 20'000 : 0; }
  Response take_response() override { return {.type = "text/plain", .body = word_ + body_}; }

 private:
  Loop& loop_;
  std::int64_t& nows_;
  std::string method_, target_, word_, body_;
  std::vector<char> place_;
  bool waits_ = false;
};

class EchoApplication final : public Application {
 public:
  explicit EchoApplication(Loop& loop) : loop_(loop) {}
  std::unique_ptr<Client> connect(std::size_t) override {
    class One final : public Client {
     public:
      explicit One(EchoApplication& of) : of_(of) {}
      std::unique_ptr<Exchange> begin() override { return std::make_unique<Echo>(of_.loop_, of_.nows_); }

     private:
      EchoApplication& of_;
    };
    return std::make_unique<One>(*this);
  }
  Response problem(int status, std::string_view type, std::string_view) const override {
    return {.status = status, .body = std::string(type)};
  }

 private:
  Loop& loop_;
  std::int64_t nows_ = 0;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    char folder[] = "/tmp/pawl-http-XXXXXX";
    folder_ = mkdtemp(folder);
    auto started = Server::start({{.socket_path = path()}},
                                 [](Loop& loop) { return std::make_unique<EchoApplication>(loop); });
    EXPECT_TRUE(started);
    server_ = *std::move(started);
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string path() const { return folder_ + "/socket"; }

  os::UniqueFd open() const { return *connect_to(path()); }
  static void send_all(const os::UniqueFd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // All bytes until the server closes the connection.
  static std::string rest_of(const os::UniqueFd& fd) {
    std::string out;
    char bytes[4096];
    for (ssize_t size; (size = recv(fd.get(), bytes, sizeof bytes, 0)) > 0;)
      out.append(bytes, static_cast<std::size_t>(size));
    return out;
  }
  std::string ask(const std::string& head, const std::string& body = "") const {
    const auto fd = open();
    send_all(fd, head + "\r\nConnection: close\r\n\r\n" + body);
    return rest_of(fd);
  }
  static std::string post(std::size_t size) {
    return "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(size);
  }

  std::string folder_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, FieldsAndBodiesReachTheApplication) {
  const auto answer = ask(post(3) + "\r\nWord: a", "bcd");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\nabcd"));
}

TEST_F(ServerTest, ALargeBodyIsReadIntoThePlaceThatTheApplicationGives) {
  std::string body(kBodyMax - 1, 'a');
  body += 'b';
  const auto answer = ask(post(body.size()), body);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nb" + std::string(kBodyMax - 1, 'a'))) << "worked on in the thread";
}

TEST_F(ServerTest, TheApplicationWordsEachRefusal) {
  EXPECT_TRUE(ask("GET /no HTTP/1.1").ends_with("\r\n\r\nno"));
  EXPECT_TRUE(ask(post(kBodyMax + 1), std::string(kBodyMax + 1, 'x')).ends_with("\r\n\r\nlarge"));
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nContent-Length: 1", "x").ends_with("\r\n\r\ninvalid"));
  EXPECT_TRUE(ask("this is no request").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(
      ask("GET / HTTP/1.1\r\nWord: " + std::string(kHeaderBytesMax, 'a')).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(ask("HEAD /no HTTP/1.1").ends_with("Connection: close\r\n\r\n")) << "without a body";
}

TEST_F(ServerTest, APeerThatIsGoneGetsNoResponseAndTheServerGoesOn) {
  {
    const auto fd = open();
    send_all(fd, post(100) + "\r\n\r\nhalf");
  }
  const auto fd = open();
  send_all(fd, post(100) + "\r\n\r\nhalf");
  shutdown(fd.get(), SHUT_WR);
  EXPECT_EQ(rest_of(fd), "");
  EXPECT_TRUE(ask(post(1), "x").ends_with("\r\n\r\nx"));
}

TEST_F(ServerTest, AWaitingRequestIsRetriedWhenTheApplicationSaysSo) {
  const auto later = open();
  send_all(later, "GET /later HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(ask("GET /now HTTP/1.1").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(rest_of(later).starts_with("HTTP/1.1 200 ")) << "and not after 20 seconds";
}

TEST_F(ServerTest, RequestsThatHaveArrivedAreAnsweredBeforeTheEnd) {
  const auto fd = open();
  send_all(fd, post(1) + "\r\n\r\nx");
  server_.reset();
  EXPECT_TRUE(rest_of(fd).ends_with("\r\n\r\nx"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace pawl::http
