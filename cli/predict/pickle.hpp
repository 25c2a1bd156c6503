#pragma once

/// Values as a Python pickle, protocol 2 (docs.python.org, pickletools), of the few kinds that
/// other people's viewers read: integers, floats, texts, lists and dicts.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace prequel {

/// Writes one value, told part by part: a list or dict is begun, filled and ended.
class Pickle {
 public:
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  /// The key of the value that is told next, in a dict.
  void key(std::string_view text) { value(text); }

  void value(std::string_view text);
  void value(std::int64_t number);

  /// Writes what `tell` tells or, where that name was told before, the same object again.
  template <class Tell>
  void shared(const std::string& name, Tell&& tell) {
    if (get(name)) return;
    tell();
    put(name);
  }

  /// The whole pickle.
  [[nodiscard]] std::string finished() &&;

 private:
  bool get(const std::string& name);
  void put(const std::string& name);
  void add_little_endian(std::uint64_t number, int bytes);

  std::string bytes_{"\x80\x02"};
  std::map<std::string, std::uint32_t> known_;  ///< by name, its place in the memo
};

}  // namespace prequel
