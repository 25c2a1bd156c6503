#include "calibrate/measure/rendezvous.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>

#include "calibrate/measure/backend.hpp"
#include "tests/error_text.hpp"

namespace prequel {
namespace {

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

/// A port that nobody listens on now.
int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(file, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  close(file);
  return ntohs(address.sin_port);
}

/// The work of one process; false: something was wrong.
using Part = bool (*)(Rendezvous& meeting);

/// Runs `part` in that many processes; whether all were content.
bool all_content(int processes, Part part) {
  const int port = free_port();
  std::vector<pid_t> children;
  for (int rank = 1; rank < processes; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      bool content = false;
      try {
        const auto meeting = meet_by_tcp({rank, processes, rank, "127.0.0.1", port}, {20.0});
        content = part(*meeting);
      } catch (const DeviceError&) {
        content = false;
      }
      _exit(content ? 0 : 1);
    }
    children.push_back(child);
  }
  const auto meeting = meet_by_tcp({0, processes, 0, "127.0.0.1", port}, {20.0});
  bool content = part(*meeting);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    content = content && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return content;
}

TEST_CASE("two processes hand on what the first has") {
  CHECK(all_content(2, [](Rendezvous& meeting) {
    std::string id(128, meeting.rank() == 0 ? 'i' : '-');
    meeting.broadcast(id.data(), id.size());
    return id == std::string(128, 'i');
  }));
}

TEST_CASE("five processes gather by rank, again and again") {
  CHECK(all_content(5, [](Rendezvous& meeting) {
    for (std::uint64_t turn = 0; turn < 100; ++turn) {
      const auto own = 10 * turn + static_cast<std::uint64_t>(meeting.rank());
      const auto all = meeting.all_gather(own);
      for (std::uint64_t rank = 0; rank < 5; ++rank) {
        if (all[rank] != 10 * turn + rank) return false;
      }
    }
    return true;
  }));
}

/// Connects as soon as somebody listens, says `greeting` and keeps silent until it is killed.
pid_t stranger(int port, const std::string& greeting) {
  const pid_t child = fork();
  if (child != 0) return child;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  for (;;) {
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      (void)!write(file, greeting.data(), greeting.size());
      for (;;) pause();
    }
    close(file);
    usleep(1000);
  }
}

TEST_CASE("strangers who keep silent, talk or do not know the secret hold nobody up") {
  const int port = free_port();
  std::vector<pid_t> strangers;
  for (int i = 0; i < 8; ++i) strangers.push_back(stranger(port, i % 2 ? "GET / HTTP/1.1" : ""));
  strangers.push_back(fork());
  if (strangers.back() == 0) {
    try {
      meet_by_tcp({1, 2, 1, "127.0.0.1", port, 666}, {60.0});
    } catch (const DeviceError&) {
    }
    _exit(0);
  }
  const pid_t friendly = fork();
  if (friendly == 0) {
    bool content = false;
    try {
      const auto meeting = meet_by_tcp({1, 2, 1, "127.0.0.1", port, 42}, {60.0});
      content = meeting->all_gather(8) == std::vector<std::uint64_t>{7, 8};
    } catch (const DeviceError&) {
    }
    _exit(content ? 0 : 1);
  }
  const auto meeting = meet_by_tcp({0, 2, 0, "127.0.0.1", port, 42}, {60.0});
  CHECK(meeting->all_gather(7) == std::vector<std::uint64_t>{7, 8});
  int status = 1;
  waitpid(friendly, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  for (const pid_t one : strangers) {
    kill(one, SIGKILL);
    waitpid(one, &status, 0);
  }
}

TEST_CASE("the secret is the user's key and the number of the job") {
  const auto secret = [](const std::string& key, const std::string& job) {
    return place_from_environment(environment({{"SLURM_PROCID", "0"},
                                               {"SLURM_NTASKS", "1"},
                                               {"SLURM_LOCALID", "0"},
                                               {"SLURM_JOB_ID", job},
                                               {"PREQUEL_RENDEZVOUS_KEY", key}}))
        .secret;
  };
  CHECK(secret("a", "1") == secret("a", "1"));
  CHECK(secret("a", "1") != secret("b", "1"));
  CHECK(secret("a", "1") != secret("a", "2"));
}

TEST_CASE("the longest time is known to all, and processes of one machine share its node") {
  CHECK(all_content(3, [](Rendezvous& meeting) {
    const Seconds time = longest(meeting, {0.5 * (meeting.rank() + 1)});
    return time.value == 1.5 && nodes_of(meeting) == std::vector<int>{0, 0, 0};
  }));
}

TEST_CASE("a process that ends is noticed by the others") {
  CHECK(all_content(2, [](Rendezvous& meeting) {
    if (meeting.rank() == 1) return true;
    try {
      for (;;) meeting.all_gather(1);
    } catch (const DeviceError& error) {
      return std::string(error.what()) ==
             "rendezvous: a process of this measurement has ended, or keeps silent";
    }
  }));
}

TEST_CASE("where nobody comes, waiting ends and says so") {
  const int port = free_port();
  std::string text;
  try {
    meet_by_tcp({0, 2, 0, "127.0.0.1", port}, {0.2});
  } catch (const DeviceError& error) {
    text = error.what();
  }
  CHECK(text ==
        "rendezvous at 127.0.0.1:" + std::to_string(port) + ": 1 of 2 processes did not come");
  text.clear();
  try {
    meet_by_tcp({1, 2, 0, "127.0.0.1", port}, {0.2});
  } catch (const DeviceError& error) {
    text = error.what();
  }
  CHECK(text == "rendezvous at 127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST_CASE("where somebody listens who never answers, waiting ends and says so") {
  const int door = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(door, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(listen(door, 8) == 0);
  getsockname(door, reinterpret_cast<sockaddr*>(&address), &size);
  const int port = ntohs(address.sin_port);
  std::string text;
  try {
    meet_by_tcp({1, 2, 0, "127.0.0.1", port}, {0.3});
  } catch (const DeviceError& error) {
    text = error.what();
  }
  CHECK(text ==
        "rendezvous at 127.0.0.1:" + std::to_string(port) + ": the first process does not answer");
  close(door);
}

TEST_CASE("one process meets nobody") {
  const auto meeting = meet_by_tcp({}, {0.0});
  CHECK(meeting->all_gather(7) == std::vector<std::uint64_t>{7});
}

TEST_CASE("torchrun's variables say who one is") {
  const ProcessPlace place = place_from_environment(environment({{"RANK", "9"},
                                                                 {"WORLD_SIZE", "16"},
                                                                 {"LOCAL_RANK", "1"},
                                                                 {"MASTER_ADDR", "gpu7"},
                                                                 {"MASTER_PORT", "1234"},
                                                                 {"SLURM_PROCID", "3"}}));
  CHECK(place.rank == 9);
  CHECK(place.ranks == 16);
  CHECK(place.local_rank == 1);
  CHECK(place.address == "gpu7");
  CHECK(place.port == 1234);
}

TEST_CASE("Slurm's variables do too: the first host, and one port for the whole job") {
  const auto of_rank = [](const char* rank) {
    return place_from_environment(environment({{"SLURM_PROCID", rank},
                                               {"SLURM_NTASKS", "8"},
                                               {"SLURM_LOCALID", "1"},
                                               {"SLURM_JOB_ID", "123456"},
                                               {"SLURM_STEP_NODELIST", "jz[017-018]"}}));
  };
  CHECK(of_rank("5").rank == 5);
  CHECK(of_rank("5").address == "jz017");
  CHECK(of_rank("5").port == of_rank("0").port);
}

TEST_CASE("the first of a host list") {
  CHECK(first_host("a") == "a");
  CHECK(first_host("a,b[1-2]") == "a");
  CHECK(first_host("n[003-005,9],m") == "n003");
  CHECK(first_host("n[7],m") == "n7");
  CHECK(first_host("n[7") == "n[7");
}

TEST_CASE("without variables one is alone") {
  CHECK(place_from_environment(environment({})).ranks == 1);
}

TEST_CASE("variables that cannot be are refused by name") {
  const auto text = [](std::map<std::string, std::string> values) {
    return error_text([&] { place_from_environment(environment(values)); });
  };
  CHECK(text({{"RANK", "0"}, {"WORLD_SIZE", "two"}}) ==
        "WORLD_SIZE: expected a whole number from 1 to 1048576, got \"two\"");
  CHECK(text({{"RANK", "2"}, {"WORLD_SIZE", "2"}}) ==
        "RANK: expected a whole number from 0 to 1, got \"2\"");
  CHECK(text({{"RANK", "1"}, {"WORLD_SIZE", "2"}}) ==
        "LOCAL_RANK: is not set, though the others are");
  CHECK(text({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}) ==
        "MASTER_ADDR: is not set, though RANK and WORLD_SIZE are");
}

}  // namespace
}  // namespace prequel
