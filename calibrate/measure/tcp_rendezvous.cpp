#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/rendezvous.hpp"
#include "calibrate/measure/sampling.hpp"

namespace prequel {
namespace {

/// Begins every connection, so that a stranger who connects is turned away.
constexpr std::uint64_t kGreeting = 0x70726571'75656c31;
constexpr std::chrono::milliseconds kBetweenTries{100};

/// Closes its file when it goes.
class Socket {
 public:
  explicit Socket(int file = -1) : file_(file) {}
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] bool is_open() const { return file_ >= 0; }

 private:
  int file_;
};

bool send_all(const Socket& socket, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(socket.file(), next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(const Socket& socket, void* data, std::size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(socket.file(), next, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void set(const Socket& socket, int level, int option, int value) {
  setsockopt(socket.file(), level, option, &value, sizeof value);
}

/// A stranger's silence must not hold up the rest.
void wait_at_most(const Socket& socket, Seconds patience) {
  const timeval time{static_cast<time_t>(patience.value), 0};
  setsockopt(socket.file(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

struct Greeting {
  std::uint64_t greeting{kGreeting};
  std::uint64_t rank{};
};

/// A star: every process is connected with the first.
class TcpRendezvous final : public Rendezvous {
 public:
  TcpRendezvous(ProcessPlace place, Seconds patience)
      : place_(std::move(place)), name_(fmt::format("{}:{}", place_.address, place_.port)) {
    if (place_.ranks == 1) return;
    const Clock clock = steady_clock();
    const double end = clock().value + patience.value;
    const auto left = [&] { return end - clock().value; };
    if (place_.rank == 0) {
      accept_all(left);
    } else {
      connect_first(left);
    }
  }

  [[nodiscard]] int rank() const override { return place_.rank; }
  [[nodiscard]] int ranks() const override { return place_.ranks; }
  [[nodiscard]] int local_rank() const override { return place_.local_rank; }

  void broadcast(void* data, std::size_t bytes) override {
    for (const Socket& peer : peers_) {
      require(place_.rank == 0 ? send_all(peer, data, bytes) : receive_all(peer, data, bytes));
    }
  }

  std::vector<std::uint64_t> all_gather(std::uint64_t own) override {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(place_.ranks), own);
    if (place_.rank > 0) {
      require(send_all(peers_.front(), &own, sizeof own));
    } else {
      for (std::size_t i = 1; i < values.size(); ++i) {
        require(receive_all(peers_[i - 1], &values[i], sizeof own));
      }
    }
    broadcast(values.data(), values.size() * sizeof own);
    return values;
  }

 private:
  static void require(bool done) {
    if (!done) throw DeviceError("rendezvous: a process of this measurement has ended");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DeviceError(fmt::format("rendezvous at {}: {}", name_, what));
  }

  template <typename Left>
  void accept_all(const Left& left) {
    Socket listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool six = listener.is_open();
    if (!six) listener = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    set(listener, SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    any6.sin6_port = htons(static_cast<std::uint16_t>(place_.port));
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    any4.sin_port = any6.sin6_port;
    if (six) set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const auto* address =
        six ? reinterpret_cast<const sockaddr*>(&any6) : reinterpret_cast<const sockaddr*>(&any4);
    if (bind(listener.file(), address, six ? sizeof any6 : sizeof any4) != 0 ||
        listen(listener.file(), place_.ranks) != 0) {
      refuse(std::strerror(errno));
    }
    peers_.resize(static_cast<std::size_t>(place_.ranks) - 1);
    std::size_t missing = peers_.size();
    while (missing > 0) {
      pollfd ready{listener.file(), POLLIN, 0};
      if (left() <= 0.0) refuse(fmt::format("{} of {} processes did not come", missing, ranks()));
      if (poll(&ready, 1, 100) <= 0) continue;
      Socket peer(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
      if (peer.is_open() && greet(std::move(peer))) --missing;
    }
  }

  /// Whether the peer is one of ours that was missing.
  bool greet(Socket peer) {
    wait_at_most(peer, {5.0});
    Greeting hello;
    if (!receive_all(peer, &hello, sizeof hello) || hello.greeting != kGreeting) return false;
    if (hello.rank == 0 || hello.rank > peers_.size()) return false;
    if (peers_[hello.rank - 1].is_open()) {
      refuse(fmt::format("two processes say that they are rank {}", hello.rank));
    }
    wait_at_most(peer, {0.0});
    set(peer, IPPROTO_TCP, TCP_NODELAY, 1);
    const std::uint64_t ranks = static_cast<std::uint64_t>(place_.ranks);
    if (!send_all(peer, &ranks, sizeof ranks)) return false;
    peers_[hello.rank - 1] = std::move(peer);
    return true;
  }

  template <typename Left>
  void connect_first(const Left& left) {
    std::string reason = "nobody answers";
    for (; left() > 0.0; std::this_thread::sleep_for(kBetweenTries)) {
      Socket first = connected(reason);
      if (!first.is_open()) continue;
      set(first, IPPROTO_TCP, TCP_NODELAY, 1);
      const Greeting hello{kGreeting, static_cast<std::uint64_t>(place_.rank)};
      std::uint64_t ranks = 0;
      if (!send_all(first, &hello, sizeof hello) || !receive_all(first, &ranks, sizeof ranks)) {
        reason = "the first process does not answer";
        continue;
      }
      if (ranks != static_cast<std::uint64_t>(place_.ranks)) {
        refuse(fmt::format("the first process counts {} processes, rank {} counts {}", ranks,
                           place_.rank, place_.ranks));
      }
      peers_.push_back(std::move(first));
      return;
    }
    refuse(reason);
  }

  /// Open when the first process listens already.
  Socket connected(std::string& reason) const {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int status =
        getaddrinfo(place_.address.c_str(), fmt::format("{}", place_.port).c_str(), &hints, &found);
    if (status != 0) {
      reason = gai_strerror(status);
      return Socket();
    }
    Socket result;
    for (const addrinfo* one = found; one && !result.is_open(); one = one->ai_next) {
      Socket trial(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
      if (!trial.is_open()) continue;
      if (connect(trial.file(), one->ai_addr, one->ai_addrlen) == 0) {
        result = std::move(trial);
      } else {
        reason = std::strerror(errno);
      }
    }
    freeaddrinfo(found);
    return result;
  }

  ProcessPlace place_;
  std::string name_;
  std::vector<Socket> peers_;  ///< of the first: all others by rank; of the others: the first
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_tcp(const ProcessPlace& place, Seconds patience) {
  return std::make_unique<TcpRendezvous>(place, patience);
}

}  // namespace prequel
