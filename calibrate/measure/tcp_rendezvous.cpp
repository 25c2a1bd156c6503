#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
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
constexpr int kStrangers = 64;           ///< that may be heard beside our own processes
constexpr Seconds kGreetingTime{5.0};    ///< from connecting to the last byte of a greeting
constexpr Seconds kLongestSilence{600};  ///< of a peer: more than any single measurement takes

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

/// A peer that keeps silent for longer counts as gone.
void wait_at_most(const Socket& socket, Seconds patience) {
  const auto whole = static_cast<time_t>(patience.value);
  const double rest = patience.value - static_cast<double>(whole);
  const timeval time{whole, static_cast<suseconds_t>(1e6 * rest) + 1};  // 0 would be for ever
  setsockopt(socket.file(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

struct Greeting {
  std::uint64_t greeting{kGreeting};
  std::uint64_t secret{};
  std::uint64_t rank{};
};

/// One that has connected and not yet said all of its greeting.
struct Visitor {
  Socket socket;
  double end{};  ///< of the time it has for that
  Greeting hello{};
  std::size_t heard{};  ///< bytes of `hello`
};

struct Addresses {
  addrinfo* first{};
  std::string problem;  ///< why there are none

  Addresses(const std::string& host, int port, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    const int status = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                   fmt::format("{}", port).c_str(), &hints, &first);
    if (status != 0) problem = gai_strerror(status);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (first) freeaddrinfo(first);
  }
};

bool is_loopback(const addrinfo& one) {
  if (one.ai_family == AF_INET) {
    const auto* const address = reinterpret_cast<const sockaddr_in*>(one.ai_addr);
    return (ntohl(address->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* const address = reinterpret_cast<const sockaddr_in6*>(one.ai_addr);
  return IN6_IS_ADDR_LOOPBACK(&address->sin6_addr);
}

/// A listener at one of these addresses; not open when none can be had.
Socket listening(const Addresses& addresses, int backlog, bool at_loopback) {
  for (const addrinfo* one = addresses.first; one; one = one->ai_next) {
    if (is_loopback(*one) && !at_loopback) continue;
    Socket trial(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (!trial.is_open()) continue;
    set(trial, SOL_SOCKET, SO_REUSEADDR, 1);
    if (one->ai_family == AF_INET6) set(trial, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(trial.file(), one->ai_addr, one->ai_addrlen) == 0 &&
        listen(trial.file(), backlog) == 0) {
      return trial;
    }
  }
  return Socket();
}

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
    if (!done)
      throw DeviceError("rendezvous: a process of this measurement has ended, or keeps silent");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DeviceError(fmt::format("rendezvous at {}: {}", name_, what));
  }

  /// At the address that the others were told. Only where that is no address of this machine, or a
  /// name that this machine alone takes for itself (127.0.1.1 in Debian's /etc/hosts), at all.
  Socket listener() const {
    const int backlog = place_.ranks + kStrangers;
    const bool local = place_.address == "localhost" || place_.address.starts_with("127.") ||
                       place_.address == "::1";
    Socket result = listening({place_.address, place_.port, 0}, backlog, local);
    if (!result.is_open() && !local) {
      result = listening({{}, place_.port, AI_PASSIVE}, backlog, true);
    }
    if (!result.is_open()) refuse(std::strerror(errno));
    return result;
  }

  /// Hears all that have connected at once, so that nobody's silence holds up the rest.
  template <typename Left>
  void accept_all(const Left& left) {
    const Socket door = listener();
    peers_.resize(static_cast<std::size_t>(place_.ranks) - 1);
    std::size_t missing = peers_.size();
    std::vector<Visitor> visitors;
    while (missing > 0) {
      if (left() <= 0.0) refuse(fmt::format("{} of {} processes did not come", missing, ranks()));
      std::vector<pollfd> ready{{door.file(), POLLIN, 0}};
      for (const Visitor& one : visitors) ready.push_back({one.socket.file(), POLLIN, 0});
      if (poll(ready.data(), ready.size(), 100) < 0) continue;
      std::vector<Visitor> silent;
      for (std::size_t i = 0; i < visitors.size(); ++i) {
        Visitor& one = visitors[i];
        const bool open = ready[i + 1].revents == 0 || hear(one);
        if (one.heard == sizeof one.hello) {
          missing -= admit(std::move(one)) ? 1 : 0;
        } else if (open && left() > one.end) {
          silent.push_back(std::move(one));
        }
      }
      visitors = std::move(silent);
      if (ready.front().revents == 0) continue;
      Socket peer(accept4(door.file(), nullptr, nullptr, SOCK_CLOEXEC));
      if (peer.is_open() && visitors.size() < peers_.size() + kStrangers) {
        visitors.push_back({std::move(peer), left() - kGreetingTime.value});
      }
    }
  }

  /// Takes what has come of a greeting; false where the visitor has gone.
  static bool hear(Visitor& one) {
    const ssize_t got = recv(one.socket.file(), reinterpret_cast<char*>(&one.hello) + one.heard,
                             sizeof one.hello - one.heard, MSG_DONTWAIT);
    if (got < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
    one.heard += static_cast<std::size_t>(got);
    return got > 0;
  }

  /// Admits the visitor if it is one of ours that was missing; else returns false.
  bool admit(Visitor one) {
    const Greeting& hello = one.hello;
    if (hello.greeting != kGreeting || hello.secret != place_.secret) return false;
    if (hello.rank == 0 || hello.rank > peers_.size()) return false;
    if (peers_[hello.rank - 1].is_open()) {
      refuse(fmt::format("two processes say that they are rank {}", hello.rank));
    }
    wait_at_most(one.socket, kLongestSilence);
    set(one.socket, IPPROTO_TCP, TCP_NODELAY, 1);
    const std::uint64_t ranks = static_cast<std::uint64_t>(place_.ranks);
    if (!send_all(one.socket, &ranks, sizeof ranks)) return false;
    peers_[hello.rank - 1] = std::move(one.socket);
    return true;
  }

  template <typename Left>
  void connect_first(const Left& left) {
    std::string reason = "nobody answers";
    for (; left() > 0.0; std::this_thread::sleep_for(kBetweenTries)) {
      Socket first = connected(reason);
      if (!first.is_open()) continue;
      set(first, IPPROTO_TCP, TCP_NODELAY, 1);
      wait_at_most(first, {std::max(0.0, left())});
      const Greeting hello{kGreeting, place_.secret, static_cast<std::uint64_t>(place_.rank)};
      std::uint64_t ranks = 0;
      if (!send_all(first, &hello, sizeof hello) || !receive_all(first, &ranks, sizeof ranks)) {
        reason = "the first process does not answer";
        continue;
      }
      if (ranks != static_cast<std::uint64_t>(place_.ranks)) {
        refuse(fmt::format("the first process counts {} processes, rank {} counts {}", ranks,
                           place_.rank, place_.ranks));
      }
      wait_at_most(first, kLongestSilence);
      peers_.push_back(std::move(first));
      return;
    }
    refuse(reason);
  }

  /// Open when the first process listens already.
  Socket connected(std::string& reason) const {
    const Addresses found(place_.address, place_.port, 0);
    if (!found.first) {
      reason = found.problem;
      return Socket();
    }
    Socket result;
    for (const addrinfo* one = found.first; one && !result.is_open(); one = one->ai_next) {
      Socket trial(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
      if (!trial.is_open()) continue;
      if (connect(trial.file(), one->ai_addr, one->ai_addrlen) == 0) {
        result = std::move(trial);
      } else {
        reason = std::strerror(errno);
      }
    }
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
