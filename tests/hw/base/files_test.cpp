#include "hw/base/files.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/error_text.hpp"
#include "tests/hw/base/temporary_folder.hpp"

using namespace prequel;
namespace fs = std::filesystem;

TEST_CASE("a file is read as it is, zero bytes and all") {
  const TemporaryFolder folder;
  const std::string content("a\0b\r\n\xff", 6);
  CHECK(read_file(folder.with("x", content)) == content);
  CHECK(read_file(folder.with("empty", "")).empty());
}

// A bare root may have no /proc.
TEST_CASE("files of /proc, which give no size, are read too" *
          doctest::skip(!fs::exists("/proc/self/stat"))) {
  CHECK(read_file("/proc/self/stat").size() > 10);
}

TEST_CASE("a folder is told from a file, and from a name that nothing can have") {
  const TemporaryFolder folder;
  CHECK(is_folder(folder / ""));
  CHECK_FALSE(is_folder(folder.with("x", "")));
  CHECK_FALSE(is_folder(folder / "nothing"));
  CHECK_FALSE(is_folder(std::string(5000, 'A')));
}

TEST_CASE("a file of exactly the limit is read") {
  const TemporaryFolder folder;
  const std::string path = folder.with("x", std::string(100, 'x'));
  CHECK(read_file(path, 100).size() == 100);
  CHECK(error_text([&] { read_file(path, 99); }) == path + ": is 100 bytes; at most 99 bytes");
}

TEST_CASE("a missing file is refused") {
  CHECK(error_text([] { read_file("/no/such.json"); }) == "/no/such.json: no such file");
}

TEST_CASE("a directory is refused") {
  CHECK(error_text([] { read_file("/"); }) == "/: is a directory; expected a file");
}

TEST_CASE("a device or a pipe is refused without waiting for it") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(error_text([&] { read_file(pipe); }) == pipe + ": is not a regular file");
  CHECK(error_text([] { read_file("/dev/zero"); }) == "/dev/zero: is not a regular file");
}

TEST_CASE("a file of 200 MB is refused unread") {
  const TemporaryFolder folder;
  const std::string path = folder.with("x.json", "");
  fs::resize_file(path, 200'000'000);
  CHECK(error_text([&] { read_file(path); }) == path + ": is 200 MB; at most 16 MiB");
  fs::resize_file(path, 2'500'000'000);
  CHECK(error_text([&] { read_file(path); }) == path + ": is 2.5 GB; at most 16 MiB");
}

TEST_CASE("what was written is read back, and nothing else is left in the folder") {
  const TemporaryFolder folder;
  const std::string path = folder / "x.json";
  write_file(path, "old");
  write_file(path, "new");
  CHECK(read_file(path) == "new");
  CHECK(folder.files() == 1);
}

TEST_CASE("writing keeps the permissions of the file that it replaces") {
  const TemporaryFolder folder;
  const std::string path = folder.with("x.json", "old");
  fs::permissions(path, fs::perms(0640));
  write_file(path, "new");
  CHECK(fs::status(path).permissions() == fs::perms(0640));
}

TEST_CASE("writing to a symbolic link replaces the file that it leads to") {
  const TemporaryFolder folder;
  const std::string path = folder.with("x.json", "old");
  fs::create_symlink(path, folder / "link");
  write_file(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(path) == "new");
}

TEST_CASE("a device is written to and not replaced") {
  write_file("/dev/null", "nothing");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a file of any length is read in pieces, as far as it is wanted") {
  const TemporaryFolder folder;
  const std::string content(3'000'000, 'x');
  const std::string path = folder.with("long", content);
  std::string got;
  read_pieces(path, [&](std::string_view piece) {
    got += piece;
    return true;
  });
  CHECK(got == content);
  int pieces = 0;
  read_pieces(path, [&](std::string_view) { return ++pieces < 2; });
  CHECK(pieces == 2);
  const auto none = [](std::string_view) { return true; };
  CHECK(error_text([&] { read_pieces("/no/such", none); }) == "/no/such: no such file");
  CHECK(error_text([&] { read_pieces("/", none); }) == "/: is a directory; expected a file");
}

TEST_CASE("a full device is an error") {
  CHECK(error_text([] { write_file("/dev/full", "x"); }) ==
        "/dev/full: cannot be written: No space left on device");
}

TEST_CASE("a file that cannot be made is an error that says why") {
  CHECK(error_text([] { write_file("/no/such/x.json", "x"); }) ==
        "/no/such/x.json: cannot be written: No such file or directory");
  CHECK(error_text([] { write_file("/", "x"); }) == "/: is a directory; expected a file");
}
