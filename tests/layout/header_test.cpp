#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

/// The words of a line of code without its comment and strings, each with what stands before it.
struct Word {
  std::string text;
  std::string before;  ///< the word that one blank parts from it, or "std::", or a member's sign
};

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < line.size();) {
    if (line.substr(i).starts_with("//")) break;
    if (line[i] == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) i += line[i] == '\\' ? 1 : 0;
      ++i;
    } else if (in_word(line[i])) {
      std::size_t end = i;
      while (end < line.size() && in_word(line[end])) ++end;
      const std::string_view before = line.substr(0, i);
      Word word{std::string(line.substr(i, end - i)), {}};
      if (before.ends_with("std::")) {
        word.before = "std::";
      } else if (before.ends_with("::") || before.ends_with(".") || before.ends_with("->")) {
        word.before = ".";
      } else if (before.ends_with(" ") && !words.empty()) {
        const std::string& last = words.back().text;
        if (before.ends_with(last + " ")) word.before = last;
      }
      words.push_back(std::move(word));
      i = end;
    } else {
      ++i;
    }
  }
  return words;
}

/// The names of a header.
struct Header {
  std::set<std::string> types;  ///< that it declares for others
  std::set<std::string> own;    ///< that it declares anywhere, its templates' parameters included
  std::set<std::string> named;  ///< that it uses
  std::set<std::string> standard;  ///< that it uses of std
  std::vector<std::string> includes;
  std::set<std::string> system;  ///< headers between angle brackets
};

bool declares(const std::string& keyword) {
  static const std::set<std::string> kKeywords = {"struct", "class", "using", "concept",
                                                  "typename"};
  return kKeywords.contains(keyword);
}

Header read_header(const std::vector<std::string>& lines) {
  Header header;
  for (const std::string& line : lines) {
    if (line.starts_with("#include \"")) {
      header.includes.push_back(line.substr(10, line.rfind('"') - 10));
    } else if (line.starts_with("#include <")) {
      header.system.insert(line.substr(10, line.rfind('>') - 10));
    }
    if (line.starts_with("#")) continue;
    const std::vector<Word> words = words_of(line);
    const bool at_top = !words.empty() && line.starts_with(words.front().text);
    const bool forward = line.ends_with(";") && line.find_first_of("{=") == std::string::npos;
    for (const Word& word : words) {
      if (word.before == "std::") {
        header.standard.insert(word.text);
      } else if (declares(word.before)) {
        header.own.insert(word.text);
        if (at_top && !forward) header.types.insert(word.text);
      } else if (word.before != ".") {
        header.named.insert(word.text);
      }
    }
  }
  return header;
}

using Headers = std::map<std::string, Header>;

Headers headers_of_the_tree() {
  Headers headers;
  for (const std::string folder : {"hw", "models", "sim", "calibrate", "cli"}) {
    for (const std::string& file : files_under(folder, {".hpp"})) {
      headers.emplace(file, read_header(lines_of(file)));
    }
  }
  return headers;
}

/// Adds a header and all that it includes, however far down.
void add_reach(const Headers& headers, const std::string& file, std::set<std::string>& reach) {
  const auto found = headers.find(file);
  if (found == headers.end() || !reach.insert(file).second) return;
  for (const std::string& included : found->second.includes) add_reach(headers, included, reach);
}

/// Where a name of std comes from; names that several headers bring are left out.
const std::map<std::string, std::string>& standard_headers() {
  static const std::map<std::string, std::string> kHeaders = {{"array", "array"},
                                                              {"atomic", "atomic"},
                                                              {"deque", "deque"},
                                                              {"filesystem", "filesystem"},
                                                              {"function", "functional"},
                                                              {"int16_t", "cstdint"},
                                                              {"int32_t", "cstdint"},
                                                              {"int64_t", "cstdint"},
                                                              {"int8_t", "cstdint"},
                                                              {"map", "map"},
                                                              {"mutex", "mutex"},
                                                              {"numeric_limits", "limits"},
                                                              {"optional", "optional"},
                                                              {"ostream", "iosfwd"},
                                                              {"set", "set"},
                                                              {"shared_ptr", "memory"},
                                                              {"span", "span"},
                                                              {"string", "string"},
                                                              {"string_view", "string_view"},
                                                              {"thread", "thread"},
                                                              {"tuple", "tuple"},
                                                              {"uint16_t", "cstdint"},
                                                              {"uint32_t", "cstdint"},
                                                              {"uint64_t", "cstdint"},
                                                              {"uint8_t", "cstdint"},
                                                              {"unique_ptr", "memory"},
                                                              {"variant", "variant"},
                                                              {"vector", "vector"}};
  return kHeaders;
}

/// Returns what a header should include and does not: the other header and the name that it uses.
std::set<std::string> missing_of(const Headers& headers, const std::string& file) {
  std::map<std::string, std::optional<std::string>> declared_by;  // by one header, or by several
  for (const auto& [other, header] : headers) {
    for (const std::string& type : header.types) {
      const auto [place, is_new] = declared_by.try_emplace(type, other);
      if (!is_new) place->second.reset();
    }
  }
  std::set<std::string> reach;
  add_reach(headers, file, reach);
  std::set<std::string> system, declared;
  for (const std::string& each : reach) {
    system.merge(std::set(headers.at(each).system));
    declared.merge(std::set(headers.at(each).own));
  }

  std::set<std::string> missing;
  const Header& header = headers.at(file);
  for (const std::string& name : header.named) {
    const auto found = declared_by.find(name);
    if (found == declared_by.end() || !found->second || declared.contains(name)) continue;
    missing.insert(*found->second + " for " + name);
  }
  for (const std::string& name : header.standard) {
    const auto found = standard_headers().find(name);
    if (found == standard_headers().end() || system.contains(found->second)) continue;
    missing.insert(found->second + " for std::" + name);
  }
  return missing;
}

TEST_CASE("a missing include is found, of the tree and of std") {
  Headers headers;
  headers["a.hpp"] = read_header({"#include <vector>", "struct Left {", "  std::vector<int> v;"});
  headers["b.hpp"] = read_header({"#include \"a.hpp\"", "struct Right { Left left; };"});
  headers["c.hpp"] = read_header({"#include \"b.hpp\"", "std::vector<Left> all(Right);"});
  headers["d.hpp"] = read_header({"struct Left;", "void use(const Left&);  // Right"});
  headers["e.hpp"] = read_header({"std::vector<Right> none(std::string name = \"Left\");"});
  CHECK(missing_of(headers, "b.hpp").empty());
  CHECK(missing_of(headers, "c.hpp").empty());
  CHECK(missing_of(headers, "d.hpp").empty());
  CHECK(missing_of(headers, "e.hpp") == std::set<std::string>{"b.hpp for Right",
                                                              "string for std::string",
                                                              "vector for std::vector"});
}

TEST_CASE("a header reaches the headers of all types that it names") {
  const Headers headers = headers_of_the_tree();
  CHECK(headers.size() > 300);
  for (const auto& [file, header] : headers) {
    for (const std::string& what : missing_of(headers, file)) {
      FAIL_CHECK(file << " does not include " << what);
    }
  }
}

}  // namespace
}  // namespace prequel
