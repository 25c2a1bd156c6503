#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/layout/source_tree.hpp"

namespace prequel {
namespace {

constexpr int kMostWords = 35;

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Says if `text` begins with a word that no sentence of the project begins with.
bool begins_foreign(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"Of", "What", "Whether"};
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return text.starts_with(word) &&
           (text.size() == word.size() || !is_word_character(text[word.size()]));
  });
}

/// A paragraph, a heading or an item of a list, with the line that it begins on.
struct Passage {
  std::size_t line = 0;
  std::string text;
};

/// Returns the length of the marker of a list's item, with the blanks behind it. No item: 0.
std::size_t item_marker(std::string_view line) {
  std::size_t end = 0;
  if (line.starts_with('-') || line.starts_with('*') || line.starts_with('+')) {
    end = 1;
  } else {
    while (end < line.size() && std::isdigit(static_cast<unsigned char>(line[end])) != 0) ++end;
    if (end == 0 || end == line.size() || (line[end] != '.' && line[end] != ')')) return 0;
    ++end;
  }
  const std::size_t text = line.find_first_not_of(' ', end);
  return text == std::string_view::npos || text == end ? 0 : text;
}

/// Returns the prose of a page: no code, no tables, no HTML comments, no front matter.
std::vector<Passage> passages_of(const std::vector<std::string>& lines) {
  std::vector<Passage> passages;
  bool open = false;  // the last passage goes on
  std::string fence;
  bool in_comment = false;
  bool in_front_matter = !lines.empty() && trimmed(lines[0]) == "---";
  for (std::size_t i = in_front_matter ? 1 : 0; i < lines.size(); ++i) {
    std::string_view line = trimmed(lines[i]);
    if (in_front_matter) {
      in_front_matter = line != "---";
      continue;
    }
    if (!fence.empty()) {
      if (line.starts_with(fence)) fence.clear();
      continue;
    }
    if (in_comment) {
      in_comment = line.find("-->") == std::string_view::npos;
      continue;
    }
    if (line.starts_with("```") || line.starts_with("~~~")) {
      fence = line.substr(0, 3);
      open = false;
      continue;
    }
    if (line.starts_with("<!--")) {
      in_comment = line.find("-->") == std::string_view::npos;
      open = false;
      continue;
    }
    if (line.empty() || line.starts_with('|')) {
      open = false;
      continue;
    }
    if (line.starts_with('#')) {
      line.remove_prefix(std::min(line.find_first_not_of('#'), line.size()));
      passages.push_back({i + 1, std::string(trimmed(line))});
      open = false;
      continue;
    }
    const std::size_t marker = item_marker(line);
    if (marker > 0) {
      line.remove_prefix(marker);
      open = false;
    }
    const bool is_indented_code = !open && marker == 0 && lines[i].starts_with("    ");
    if (is_indented_code) continue;
    if (open) {
      passages.back().text.append(" ").append(line);
    } else {
      passages.push_back({i + 1, std::string(line)});
    }
    open = true;
  }
  return passages;
}

/// Returns the text without what readers do not see: targets of links and marks of bold print.
std::string seen_text(std::string_view text) {
  std::string seen;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("](")) {
      i = std::min(text.find(')', i), text.size());
    } else if (text.substr(i).starts_with("**")) {
      ++i;
    } else if (text[i] != '[') {
      seen += text[i];
    }
  }
  return seen;
}

bool ends_in_abbreviation(std::string_view text) {
  constexpr std::array<std::string_view, 8> kShort = {"e.g.", "i.e.", "al.",  "vs.",
                                                      "cf.",  "eq.",  "Fig.", "No."};
  return std::ranges::any_of(kShort, [&](std::string_view word) {
    return text.ends_with(word) &&
           (text.size() == word.size() || !is_word_character(text[text.size() - word.size() - 1]));
  });
}

/// Returns the sentences of a passage. A point inside of code ends none.
std::vector<std::string> sentences_of(std::string_view passage) {
  const std::string text = seen_text(passage);
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  bool in_code = false;
  const auto cut = [&](std::size_t end) {
    const std::string_view sentence = trimmed(std::string_view(text).substr(begin, end - begin));
    if (!sentence.empty()) sentences.emplace_back(sentence);
    begin = end;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') in_code = !in_code;
    if (in_code || std::string_view(".!?").find(text[i]) == std::string_view::npos) continue;
    std::size_t end = i + 1;
    while (end < text.size() &&
           std::string_view(")\"*").find(text[end]) != std::string_view::npos) {
      ++end;
    }
    if (end == text.size() || !is_space(text[end])) continue;
    if (ends_in_abbreviation(std::string_view(text).substr(0, i + 1))) continue;
    const std::size_t next = text.find_first_not_of(" \t", end);
    const bool goes_on = end > i + 1 && next != std::string::npos &&
                         std::islower(static_cast<unsigned char>(text[next])) != 0;
    if (!goes_on) cut(end);
  }
  cut(text.size());
  return sentences;
}

int words_in(const std::string& sentence) {
  std::istringstream text(sentence);
  int words = 0;
  for (std::string word; text >> word;) words += std::ranges::any_of(word, is_word_character);
  return words;
}

bool is_question(const std::string& sentence) {
  const std::size_t last = sentence.find_last_not_of(")\"*");
  return last != std::string::npos && sentence[last] == '?';
}

/// Returns the pages at the top level, in docs/ and in data/.
std::vector<std::string> pages() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(source_root())) {
    const auto& path = entry.path();
    if (path.extension() == ".md") found.push_back(path.filename().string());
  }
  for (const char* folder : {"docs", "data"}) {
    for (auto& page : files_under(folder, {".md"})) found.push_back(std::move(page));
  }
  std::ranges::sort(found);
  return found;
}

TEST_CASE("passages are paragraphs, headings and items, without code, tables and comments") {
  const std::vector<Passage> found =
      passages_of({"---", "name: skipped", "---", "# Head", "one", "two", "- item", "  goes on",
                   "2. second", "| a | b |", "```sh", "code", "```", "<!-- not", "seen -->", "",
                   "    code too", "", "last"});
  std::string all;
  for (const Passage& passage : found) {
    all += std::to_string(passage.line) + " " + passage.text + "\n";
  }
  CHECK(all == "4 Head\n5 one two\n7 item goes on\n9 second\n19 last\n");
}

TEST_CASE("sentences end at points, but not in code, numbers, links and abbreviations") {
  CHECK(
      sentences_of("One `a. B` is 1.5. Two [b.c](d.md) (e.g. this). **Three.** Is it? 4 (e!) f") ==
      std::vector<std::string>{"One `a. B` is 1.5.", "Two b.c (e.g. this).", "Three.", "Is it?",
                               "4 (e!) f"});
  CHECK(words_in("a - b · `c d`, 1.5 %") == 5);
}

TEST_CASE("sentences that begin with a preposition or an indirect question are told from others") {
  CHECK(begins_foreign("Of all rows"));
  CHECK(begins_foreign("What"));
  CHECK_FALSE(begins_foreign("Often"));
  CHECK_FALSE(begins_foreign("Whatever"));
  CHECK(is_question("What does it cost?"));
  CHECK(is_question("(What does it cost?)"));
  CHECK_FALSE(is_question("What it costs."));
}

TEST_CASE("sentences of the pages have at most 35 words and put the subject first") {
  REQUIRE_FALSE(pages().empty());
  for (const std::string& page : pages()) {
    for (const Passage& passage : passages_of(lines_of(page))) {
      for (const std::string& sentence : sentences_of(passage.text)) {
        const int words = words_in(sentence);
        CHECK_MESSAGE(words <= kMostWords, page, ":", passage.line, ": ", words,
                      " words: ", sentence);
        const std::size_t first = std::min(sentence.find_first_not_of("\"'(*`"), sentence.size());
        CHECK_MESSAGE((is_question(sentence) || !begins_foreign(sentence.substr(first))), page, ":",
                      passage.line, ": ", sentence);
      }
    }
  }
}

/// A comment of one line: its text, and whether code stands before it.
struct LineComment {
  std::string_view text;
  bool behind_code = false;
};

/// Returns the comment that a line is or ends with; the text is empty where there is none.
LineComment comment_of(std::string_view line) {
  const auto text_after = [](std::string_view rest, std::string_view mark) {
    if (!rest.starts_with(mark)) return std::string_view();
    rest.remove_prefix(mark.size());
    return rest.empty() || !is_space(rest.front()) ? std::string_view() : trimmed(rest);
  };
  const auto text_of = [&](std::string_view rest) {
    for (const std::string_view mark : {"///<", "///", "//"}) {
      if (const auto text = text_after(rest, mark); !text.empty()) return text;
    }
    return std::string_view();
  };
  const std::string_view whole = trimmed(line);
  if (whole.starts_with("//")) return {text_of(whole), false};
  if (whole.starts_with('*')) return {text_after(whole, "*"), false};
  for (std::size_t i = line.find("//"); i != std::string_view::npos; i = line.find("//", i + 2)) {
    const std::string_view code = line.substr(0, i);
    const std::string_view bare = code.substr(0, code.find_last_not_of(" \t") + 1);
    const bool ends_code = !bare.empty() && bare.size() < code.size() &&
                           std::string_view(";,{)").find(bare.back()) != std::string_view::npos;
    if (ends_code) return {text_of(line.substr(i)), true};
  }
  return {};
}

bool is_comment(std::string_view line) {
  line = trimmed(line);
  return line.starts_with("//") || line == "*" || line.starts_with("* ");
}

/// Returns the lines whose comment has a sentence that begins with "Of", "What" or "Whether".
std::vector<std::size_t> foreign_comments(const std::vector<std::string>& lines) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const LineComment comment = comment_of(lines[i]);
    if (comment.text.empty()) continue;
    const std::string_view before = i == 0 ? std::string_view() : trimmed(lines[i - 1]);
    const bool goes_on = !comment.behind_code && is_comment(before) &&
                         std::string_view(".:!?/<*").find(before.back()) == std::string_view::npos;
    bool foreign = !goes_on && begins_foreign(comment.text);
    for (std::size_t k = 0; k + 2 < comment.text.size(); ++k) {
      const bool ends = std::string_view(".!?").find(comment.text[k]) != std::string_view::npos;
      foreign = foreign ||
                (ends && comment.text[k + 1] == ' ' && begins_foreign(comment.text.substr(k + 2)));
    }
    if (foreign) found.push_back(i + 1);
  }
  return found;
}

TEST_CASE("comments are found above, behind and inside of sentences that go on") {
  const std::string foreign = " What it costs.";
  CHECK(foreign_comments({"///" + foreign, "int a;  //" + foreign, "int b;  ///<" + foreign,
                          "// Seconds." + foreign, "// Seconds, by", "//" + foreign, "",
                          "call(\"//" + foreign + "\");", "// First.", "//" + foreign, "//",
                          "//" + foreign}) == std::vector<std::size_t>{1, 2, 3, 4, 10, 12});
}

TEST_CASE("comments put the subject first") {
  for (const char* floor : {"hw", "models", "sim", "calibrate", "cli", "tests"}) {
    for (const std::string& file : files_under(floor, {".hpp", ".cpp", ".cu", ".cuh"})) {
      const std::vector<std::string> lines = lines_of(file);
      for (const std::size_t line : foreign_comments(lines)) {
        FAIL_CHECK(file << ":" << line << ": " << lines[line - 1]);
      }
    }
  }
}

}  // namespace
}  // namespace prequel
