#include "cli/predict/pickle.hpp"

#include <utility>

namespace prequel {
namespace {

/// Opcodes (CPython, Lib/pickle.py).
namespace op {
constexpr char empty_dict = '}';
constexpr char empty_list = ']';
constexpr char mark = '(';
constexpr char set_items = 'u';
constexpr char appends = 'e';
constexpr char text = 'X';
constexpr char integer = '\x8a';  // LONG1
constexpr char put = 'r';         // LONG_BINPUT
constexpr char get = 'j';         // LONG_BINGET
constexpr char stop = '.';
}  // namespace op

constexpr int kIntegerBytes = 8;

}  // namespace

void Pickle::begin_dict() {
  bytes_ += op::empty_dict;
  bytes_ += op::mark;
}
void Pickle::end_dict() {
  bytes_ += op::set_items;
}
void Pickle::begin_list() {
  bytes_ += op::empty_list;
  bytes_ += op::mark;
}
void Pickle::end_list() {
  bytes_ += op::appends;
}

void Pickle::value(std::string_view text) {
  bytes_ += op::text;
  add_little_endian(text.size(), 4);
  bytes_ += text;
}

void Pickle::value(std::int64_t number) {
  bytes_ += op::integer;
  bytes_ += static_cast<char>(kIntegerBytes);
  add_little_endian(static_cast<std::uint64_t>(number), kIntegerBytes);
}

std::string Pickle::finished() && {
  bytes_ += op::stop;
  return std::move(bytes_);
}

bool Pickle::get(const std::string& name) {
  const auto found = known_.find(name);
  if (found == known_.end()) return false;
  bytes_ += op::get;
  add_little_endian(found->second, 4);
  return true;
}

void Pickle::put(const std::string& name) {
  const auto place = static_cast<std::uint32_t>(known_.size());
  known_.emplace(name, place);
  bytes_ += op::put;
  add_little_endian(place, 4);
}

void Pickle::add_little_endian(std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace prequel
