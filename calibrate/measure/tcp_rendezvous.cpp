#include <fmt/format.h>

#include <boost/asio.hpp>
#include <chrono>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "calibrate/measure/backend.hpp"
#include "calibrate/measure/rendezvous.hpp"

namespace prequel {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Failure = boost::system::error_code;
using TimePoint = std::chrono::steady_clock::time_point;

/// Begins every connection, so that a stranger who connects is turned away.
constexpr std::uint64_t kGreeting = 0x70726571'75656c31;
constexpr std::chrono::milliseconds kBetweenTries{100};
constexpr int kStrangers = 64;                    ///< that may be heard beside our own processes
constexpr std::chrono::seconds kGreetingTime{5};  ///< from connecting to a greeting's last byte
constexpr std::chrono::seconds kLongestSilence{600};  ///< more than any single measurement takes

/// A peer that keeps silent for too long counts as gone.
bool send_all(tcp::iostream& peer, const void* data, std::size_t bytes) {
  peer.expires_after(kLongestSilence);
  return static_cast<bool>(
      peer.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes)).flush());
}

bool receive_all(tcp::iostream& peer, void* data, std::size_t bytes, TimePoint end) {
  peer.expires_at(end);
  return static_cast<bool>(
      peer.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes)));
}

struct Greeting {
  std::uint64_t greeting{kGreeting};
  std::uint64_t secret{};
  std::uint64_t rank{};
};

/// One that has connected and not yet said all of its greeting.
struct Visitor {
  explicit Visitor(tcp::socket connected)
      : socket(std::move(connected)), patience(socket.get_executor(), kGreetingTime) {}

  tcp::socket socket;
  asio::steady_timer patience;
  Greeting hello{};
};
using Visitors = std::set<std::shared_ptr<Visitor>>;

/// A star: every process is connected with the first.
class TcpRendezvous final : public Rendezvous {
 public:
  TcpRendezvous(ProcessPlace place, Seconds patience)
      : place_(std::move(place)), name_(fmt::format("{}:{}", place_.address, place_.port)) {
    if (place_.ranks == 1) return;
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::microseconds(static_cast<std::int64_t>(1e6 * patience.value));
    if (place_.rank == 0) {
      accept_all(end);
    } else {
      connect_first(end);
    }
  }

  [[nodiscard]] int rank() const override { return place_.rank; }
  [[nodiscard]] int ranks() const override { return place_.ranks; }
  [[nodiscard]] int local_rank() const override { return place_.local_rank; }

  void broadcast(void* data, std::size_t bytes) override {
    for (tcp::iostream& peer : peers_) {
      require(place_.rank == 0 ? send_all(peer, data, bytes) : receive(peer, data, bytes));
    }
  }

  std::vector<std::uint64_t> all_gather(std::uint64_t own) override {
    std::vector<std::uint64_t> values(static_cast<std::size_t>(place_.ranks), own);
    if (place_.rank > 0) {
      require(send_all(peers_.front(), &own, sizeof own));
    } else {
      for (std::size_t i = 1; i < values.size(); ++i) {
        require(receive(peers_[i - 1], &values[i], sizeof own));
      }
    }
    broadcast(values.data(), values.size() * sizeof own);
    return values;
  }

 private:
  static bool receive(tcp::iostream& peer, void* data, std::size_t bytes) {
    return receive_all(peer, data, bytes, std::chrono::steady_clock::now() + kLongestSilence);
  }

  static void require(bool done) {
    if (!done)
      throw DeviceError("rendezvous: a process of this measurement has ended, or keeps silent");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw DeviceError(fmt::format("rendezvous at {}: {}", name_, what));
  }

  /// At the address that the others were told. Only where that is no address of this machine, or a
  /// name that this machine alone takes for itself (127.0.1.1 in Debian's /etc/hosts), at all.
  tcp::acceptor listener() {
    const bool local = place_.address == "localhost" || place_.address.starts_with("127.") ||
                       place_.address == "::1";
    const std::string port = std::to_string(place_.port);
    tcp::resolver resolver(context_);
    tcp::acceptor door(context_);
    Failure failed = asio::error::host_not_found;
    const auto open_at = [&](const auto& addresses, bool at_loopback) {
      for (const auto& one : addresses) {
        const tcp::endpoint at = one.endpoint();
        if (at.address().is_loopback() && !at_loopback) continue;
        door = tcp::acceptor(context_);
        Failure ignored;
        door.open(at.protocol(), failed);
        door.set_option(asio::socket_base::reuse_address(true), ignored);
        if (at.protocol() == tcp::v6()) door.set_option(asio::ip::v6_only(false), ignored);
        if (!failed) door.bind(at, failed);
        if (!failed) door.listen(place_.ranks + kStrangers, failed);
        if (!failed) return true;
      }
      return false;
    };
    Failure unknown;
    if (open_at(resolver.resolve(place_.address, port, unknown), local)) return door;
    if (!local &&
        open_at(resolver.resolve(std::string(), port, tcp::resolver::passive, unknown), true)) {
      return door;
    }
    refuse(failed.message());
  }

  /// Hears all that have connected at once, so that nobody's silence holds up the rest.
  void accept_all(TimePoint end) {
    tcp::acceptor door = listener();
    Visitors visitors;
    peers_.resize(static_cast<std::size_t>(place_.ranks) - 1);
    std::size_t missing = peers_.size();
    const std::function<void()> welcome = [&] {
      door.async_accept([&](Failure failed, tcp::socket socket) {
        if (!failed && visitors.size() < peers_.size() + kStrangers) {
          hear(*visitors.insert(std::make_shared<Visitor>(std::move(socket))).first, visitors,
               missing);
        }
        welcome();
      });
    };
    welcome();
    while (missing > 0 && context_.run_one_until(end) > 0) {
    }
    for (const auto& one : visitors) one->socket.close();
    if (missing > 0) refuse(fmt::format("{} of {} processes did not come", missing, ranks()));
  }

  void hear(const std::shared_ptr<Visitor>& one, Visitors& visitors, std::size_t& missing) {
    one->patience.async_wait([one](Failure) { one->socket.close(); });
    asio::async_read(one->socket, asio::buffer(&one->hello, sizeof one->hello),
                     [this, one, &visitors, &missing](Failure failed, std::size_t) {
                       if (!failed && admit(*one)) --missing;
                       one->patience.cancel();
                       visitors.erase(one);
                     });
  }

  /// Admits the visitor if it is one of ours that was missing; else returns false.
  bool admit(Visitor& one) {
    const Greeting& hello = one.hello;
    if (hello.greeting != kGreeting || hello.secret != place_.secret) return false;
    if (hello.rank == 0 || hello.rank > peers_.size()) return false;
    tcp::iostream& peer = peers_[hello.rank - 1];
    if (peer.socket().is_open()) {
      refuse(fmt::format("two processes say that they are rank {}", hello.rank));
    }
    tcp::iostream known(std::move(one.socket));
    known.socket().set_option(tcp::no_delay(true));
    const std::uint64_t ranks = static_cast<std::uint64_t>(place_.ranks);
    if (!send_all(known, &ranks, sizeof ranks)) return false;
    peer = std::move(known);
    return true;
  }

  void connect_first(TimePoint end) {
    std::string reason = "nobody answers";
    for (; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(kBetweenTries)) {
      tcp::iostream first;
      first.expires_at(end);
      first.connect(place_.address, std::to_string(place_.port));
      if (!first) {
        reason = first.error().message();
        continue;
      }
      first.socket().set_option(tcp::no_delay(true));
      const Greeting hello{kGreeting, place_.secret, static_cast<std::uint64_t>(place_.rank)};
      std::uint64_t ranks = 0;
      if (!send_all(first, &hello, sizeof hello) ||
          !receive_all(first, &ranks, sizeof ranks, end)) {
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

  ProcessPlace place_;
  std::string name_;
  asio::io_context context_;
  std::vector<tcp::iostream> peers_;  ///< of the first: all others by rank; of the others: it
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_tcp(const ProcessPlace& place, Seconds patience) {
  return std::make_unique<TcpRendezvous>(place, patience);
}

}  // namespace prequel
