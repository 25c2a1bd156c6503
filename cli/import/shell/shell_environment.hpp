#pragma once

/// Variables and started commands of a launch script so far, with the branches of which it is not
/// known whether they run.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/import/shell/shell_state.hpp"
#include "cli/import/shell/shell_tests.hpp"
#include "cli/import/shell/shell_text.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"

namespace prequel {

/// How a branch of a chain ends.
struct BranchEnd {
  Truth ran{};          ///< whether it ran, given that the chain is reached
  bool otherwise{};     ///< it runs where none before did (`else`, `*)`)
  std::string subject;  ///< of its test, which holds that against `value`: `$SIZE`
  std::string value;
};

class ShellEnvironment {
 public:
  ShellEnvironment(std::string file, ShellState before, const Choices& choices)
      : file_(std::move(file)), choices_(choices) {
    script.state = std::move(before);
  }

  /// Counts bytes that the script expands to. Throws InputError beyond 4 MiB.
  void spend(std::size_t bytes) {
    spent_ += bytes;
    if (spent_ > kMostExpanded) throw InputError(file_ + ": its variables expand to over 4 MiB");
  }

  /// Notes what is assumed, once.
  void assume(std::string text) {
    if (assumed_.insert(text).second) script.assumed.push_back(std::move(text));
  }

  /// Returns the value of a variable; none where nothing is known of it.
  [[nodiscard]] const std::string* known(std::string_view name) const {
    const auto found = script.state.variables.find(name);
    return found == script.state.variables.end() ? nullptr : &found->second;
  }

  /// Sets a variable, or forgets it.
  void set(const std::string& name, std::optional<std::string> value) {
    if (is_held(name, value.value_or(""))) return;
    const std::string* before = known(name);
    if (!chains_.empty()) {
      chains_.back().before.try_emplace(name,
                                        before == nullptr ? std::nullopt : std::optional(*before));
    }
    if (value) {
      script.state.variables.insert_or_assign(name, std::move(*value));
    } else {
      script.state.variables.erase(name);
    }
  }

  /// Assigns a value. A known one outlives an unknown one: a value that only a run would tell, or
  /// one that is set under an unknown condition (`optional`).
  void assign(const std::string& name, std::string value, bool optional) {
    if (is_held(name, value)) return;
    const std::string* before = known(name);
    const bool keeps =
        before != nullptr && !before->empty() && !is_unknown(*before) && *before != value;
    if (keeps && optional && value.starts_with(*before)) {
      return assume(fmt::format(
          "{} without {}: a condition that prequel cannot test adds it", name,
          printable(trimmed(std::string_view(value).substr(before->size())), kLongestTold)));
    }
    if (keeps && (optional || is_unknown(value))) {
      return assume(fmt::format("{} stays {}: prequel cannot tell whether it becomes {}", name,
                                printable(*before, kLongestTold), printable(value, kLongestTold)));
    }
    if (optional) {
      assume(fmt::format("{}={}: a condition that prequel cannot test sets it", name,
                         printable(value, kLongestTold)));
    }
    set(name, std::move(value));
  }

  /// Marks where a command's words end.
  void end_words() {
    if (!script.words.empty() && script.words.back() != kCommandEnd) {
      script.words.emplace_back(kCommandEnd);
    }
  }

  /// Opens a chain of branches: what an alternative sets and starts is put aside when it ends, and
  /// one alternative is chosen when the chain is closed. Throws InputError beyond 64 open ones.
  void open_chain() {
    if (chains_.size() >= kMostChains) throw InputError(file_ + ": too many branches in branches");
    chains_.emplace_back().number = chain_count_++;
    begin_branch();
  }

  /// Puts aside what a branch did that may have run; what one did that runs stays.
  void end_branch(const BranchEnd& end) {
    Chain& chain = chains_.back();
    if (!end.ran) {
      if (chain.subject.empty()) chain.subject = end.subject;
      Alternative& branch = chain.alternatives.emplace_back();
      branch.value = end.value;
      branch.otherwise = end.otherwise;
      branch.leaves = chain.leaves;
      for (const auto& [name, value] : chain.before) {
        const auto now = script.state.variables.find(name);
        if (now == script.state.variables.end()) continue;  // a function's own
        branch.sets.emplace(name, std::exchange(now->second, value.value_or("")));
        if (!value) script.state.variables.erase(now);
      }
      put_aside(script.words, chain.words, branch.words);
      put_aside(script.here_documents, chain.here_documents, branch.here_documents);
    } else if (chains_.size() > 1) {
      Chain& outer = chains_[chains_.size() - 2];
      outer.before.merge(chain.before);
      outer.leaves = outer.leaves || chain.leaves;
    }
    begin_branch();
  }

  /// Chooses among alternatives that do not end the script: the one that was asked for, else the
  /// one that runs where no other does, else the first.
  void close_chain() {
    Chain chain = std::move(chains_.back());
    chains_.pop_back();
    std::vector<Alternative>& alternatives = chain.alternatives;
    const bool complete = std::ranges::any_of(alternatives, &Alternative::otherwise);
    std::erase_if(alternatives, [](const Alternative& one) { return one.leaves; });
    if (alternatives.empty()) return;
    const auto otherwise = std::ranges::find_if(alternatives, &Alternative::otherwise);
    auto taken = static_cast<std::size_t>(
        otherwise == alternatives.end() ? 0 : otherwise - alternatives.begin());
    const auto choice = choices_.find(chain.number);
    if (choice != choices_.end()) taken = std::min(choice->second, alternatives.size() - 1);
    const bool matters = std::ranges::any_of(alternatives, [](const Alternative& one) {
      return !one.sets.empty() || !one.words.empty();
    });
    if (alternatives.size() > 1 && matters) tell(chain, taken);
    Alternative& branch = alternatives[taken];
    for (auto& [name, value] : branch.sets) {
      assign(name, std::move(value), !complete && choice == choices_.end());
    }
    std::ranges::move(branch.words, std::back_inserter(script.words));
    std::ranges::move(branch.here_documents, std::back_inserter(script.here_documents));
  }

  /// Notes that the branch ends the script.
  void leave() {
    if (!chains_.empty()) chains_.back().leaves = true;
  }

  LaunchScript script;  ///< so far

 private:
  static constexpr std::size_t kMostExpanded = 4u << 20;
  static constexpr std::size_t kLongestTold = 60;  // of a value, in reports
  static constexpr std::size_t kMostChains = 64;   // open at once, and told

  /// Tests whether a value holds nothing but unknown parts: `$2`, `$(nproc)`.
  static bool is_unknown(std::string_view value) {
    if (value.starts_with("$(") || value.starts_with('`')) return true;
    return value.starts_with('$') && value.find(' ') == std::string_view::npos;
  }

  static void put_aside(std::vector<std::string>& from, std::size_t begin,
                        std::vector<std::string>& to) {
    const auto first = from.begin() + static_cast<std::ptrdiff_t>(std::min(begin, from.size()));
    to.assign(std::make_move_iterator(first), std::make_move_iterator(from.end()));
    from.erase(first, from.end());
  }

  struct Alternative {
    std::string value;  ///< with which it runs
    bool otherwise{};   ///< it runs where none before does
    bool leaves{};      ///< it ends the script
    std::map<std::string, std::string> sets;
    std::vector<std::string> words, here_documents;
  };
  struct Chain {
    std::size_t number{};
    std::string subject;
    std::vector<Alternative> alternatives;
    // State before the branch that is read.
    std::map<std::string, std::optional<std::string>> before;
    std::size_t words{}, here_documents{};
    bool leaves{};
  };

  void begin_branch() {
    Chain& chain = chains_.back();
    chain.before.clear();
    chain.words = script.words.size();
    chain.here_documents = script.here_documents.size();
    chain.leaves = false;
  }

  /// Tests whether a variable keeps the value that it was given for good.
  bool is_held(const std::string& name, const std::string& value) {
    const auto held = script.state.held.find(name);
    if (held == script.state.held.end()) return false;
    if (parse_integer(value) && value != held->second) {
      assume(fmt::format("{} {}, as the flags have it, not {}", name, held->second, value));
    }
    return true;
  }

  void tell(const Chain& chain, std::size_t taken) {
    if (script.open.size() == kMostChains) return;
    OpenChain& open = script.open.emplace_back();
    open.subject = chain.subject;
    open.number = chain.number;
    open.taken = taken;
    for (const Alternative& one : chain.alternatives) open.values.push_back(one.value);
  }

  std::string file_;
  const Choices& choices_;
  std::vector<Chain> chains_;  ///< open, the innermost last
  std::size_t chain_count_{0};
  std::size_t spent_{0};
  std::set<std::string> assumed_;
};

}  // namespace prequel
