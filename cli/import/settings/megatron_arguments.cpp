#include "cli/import/settings/megatron_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/settings/by_name.hpp"
#include "cli/import/shell/shell_state.hpp"
#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/lower_case.hpp"
#include "hw/base/text.hpp"

namespace prequel {
namespace {

/// Flags are the same with either.
std::string with_dashes(std::string flag) {
  std::ranges::replace(flag, '_', '-');
  return flag;
}

/// Tests whether more than one word may follow the flag.
bool takes_list(const ForeignNames& names, const std::string& flag) {
  return flag == "--spec" || names.lists.contains(with_dashes(flag));  // a module and a name in it
}

constexpr std::string_view kOverrides = "overrides";  // the reader of settings in one value
constexpr std::string_view kBetweenWords = " ,[]()\"'";
/// OLMo's ways to repeat the forward pass of some layers only.
constexpr std::string_view kSomeLayers[] = {"fine_grained", "one_in_two",   "one_in_three",
                                            "one_in_four",  "two_in_three", "three_in_four"};

/// A Python or shell number: "2048", "220_000_000".
std::optional<long long> whole(std::string text) {
  std::erase(text, '_');
  return parse_integer(text);
}

class Arguments {
 public:
  Arguments(std::string file, NameSource source, Facts& job)
      : file_(std::move(file)), source_(source), job_(job) {}

  void take(const SaidFlag& said) {
    const OriginScope from(job_,
                           {Sureness::stated, file_, said.key.empty() ? said.flag : said.key});
    const std::size_t ignored = job_.report.ignored.size();
    std::string flag = with_dashes(said.flag);
    take(flag, said.value);
    flag += ' ';
    for (std::size_t i = ignored; i < job_.report.ignored.size() && !said.key.empty(); ++i) {
      std::string& line = job_.report.ignored[i];
      if ((line + ' ').starts_with(flag)) line.replace(0, flag.size() - 1, said.key);
    }
  }

 private:
  void take(std::string flag, std::string value) {
    const ForeignNames& names = *job_.names;
    if (const std::string* same = find_name(names.same_flags, flag)) flag = *same;
    // torch.optim.AdamW is AdamW.
    if (flag == "--optimizer") value.erase(0, value.rfind('.') + 1);  // npos + 1 is 0
    if (const std::string* field = find_name(names.number_flags, flag)) {
      return number(flag, value, *field);
    }
    if (const Effect* effect = find_name(names.switches, flag)) return turn(flag, *effect, value);
    const auto* words = find_name(names.words, flag);
    const bool is_word_flag = words != nullptr;
    const Effect* effect = words ? find_name(*words, value) : nullptr;
    if (words && !effect) effect = find_name(*words, "*");  // any value
    if (effect) {
      job_.note(flag);
      return take_effect(*effect, job_, value);
    }
    if (const std::string* field = find_name(names.device_flags, flag)) {
      return devices(flag, value, *field);
    }
    if (const std::string* reader = find_name(names.lists, flag)) return list(*reader, flag, value);
    if (refuse_unpriced(flag, value)) return;
    if (flag == "--spec") job_.set("model.spec", lower_case(value));
    if (read_special(flag, value)) return;
    const bool resolved = value.find('$') == std::string::npos;
    if (resolved && note_by_name(flag, value)) return;
    if (is_word_flag && resolved && !says_nothing(flag, value)) {
      return leave_out(flag, value, "is not known; predicted without it");
    }
    const bool open = is_word_flag || !resolved;
    if (seen_.insert(flag).second) {
      job_.report.ignored.push_back(open ? flag + " " + value : flag);
    }
  }

  /// Notes the meaning of an unknown flag by its name: a number of something, or a model's name,
  /// which also stands in what is ignored.
  bool note_by_name(const std::string& flag, const std::string& value) {
    if (auto guess = guess_by_name(*job_.names, flag, value)) {
      guess->origin = {Sureness::guessed, file_, flag};
      job_.guesses.push_back(std::move(*guess));
      return true;
    }
    note_file(flag, value);
    if (!value.empty() && has_part(flag, job_.names->words_of("model_flags"))) {
      job_.model_clues.push_back({ClueRank::flag, flag, value, true});
    }
    return false;
  }

  /// A configuration behind a flag of any program: `--train-args-file sft.json`.
  void note_file(const std::string& flag, const std::string& value) {
    if (is_config_path(value) && has_part(flag, job_.names->words_of("config_flags")) &&
        !has_part(flag, job_.names->words_of("no_config_flags"))) {
      job_.files_named.push_back(value);
    }
  }

  /// Words that leave a choice to the program, and flags whose word only names a family.
  static bool says_nothing(const std::string& flag, const std::string& value) {
    constexpr std::string_view kNothing[] = {"",      "auto",  "null", "none", "None",
                                             "false", "False", "no",   "off",  "default"};
    return flag == "--model-type" || flag == "--recompute-method" ||
           std::ranges::find(kNothing, value) != std::end(kNothing);
  }

  /// Flags whose value must be worked out, and those that are known and not priced.
  bool read_special(const std::string& flag, const std::string& value) {
    if (const std::string* name = find_name(job_.names->readers, flag)) {
      if (*name == kOverrides) return overrides(value);
      if (read_by_rules(*name, flag, value, job_) || take_tuning(*name, flag, value, job_)) {
        return true;
      }
      if (!is_value_reader(*job_.names, *name)) {
        throw InputError(
            fmt::format("{}: a file in import/ has its value read by \"{}\", which is no reader; a "
                        "rule of that name among value_rules of import/rules.json would do",
                        flag, printable(*name)));
      }
    }
    return not_modelled(flag, value);
  }

  /// Hugging Face's `n_embd=1024,n_layer=24` over the sizes of a family.
  bool overrides(const std::string& settings) {
    job_.set_flag("mark.model_overrides");
    for (std::size_t at = 0; at < settings.size();) {
      const std::size_t end = std::min(settings.find(',', at), settings.size());
      const std::size_t equals = settings.find('=', at);
      if (equals < end) {
        take("--" + settings.substr(at, equals - at),
             settings.substr(equals + 1, end - equals - 1));
      }
      at = end + 1;
    }
    return true;
  }

  /// Tests whether a `$` stands for a value, and not for the end of a text as in
  /// `^lm_head.weight$`.
  static bool names_variable(const std::string& value) {
    for (std::size_t at = value.find('$'); at != std::string::npos; at = value.find('$', at + 1)) {
      const char next = at + 1 < value.size() ? value[at + 1] : ' ';
      if (next == '{' || next == '(' || next == '_' ||
          std::isalnum(static_cast<unsigned char>(next)) != 0)
        return true;
    }
    return false;
  }

  /// Refuses what asks for another model or training than is priced. A value that nothing resolves
  /// may be any, so that it is only told. Returns whether the flag is of that kind.
  bool refuse_unpriced(const std::string& flag, const std::string& value) {
    if (!is_named(job_.names->unpriced, flag)) return false;
    job_.note(flag);
    const UnpricedRow* row = asked_for(job_.names->unpriced, flag, value, source_);
    if (row == nullptr) return true;
    if (names_variable(value)) {
      leave_out(flag, value, "could not be resolved; predicted without it");
      return true;
    }
    throw InputError(fmt::format("{}: {}{}{}: {}", file_, flag, value.empty() ? "" : " ",
                                 printable(value), unpriced_text(*row)));
  }

  /// Tests whether a list of words in any case holds this one, which is in small letters.
  static bool names(const std::string& value, std::string_view word) {
    return lower_case(value).find(word) != std::string::npos;
  }

  bool not_modelled(const std::string& flag, const std::string& value) {
    const std::string* neutral = find_name(job_.names->not_modelled, flag);
    const bool other_optimizer = flag == "--optimizer" && !value.empty();
    if (neutral == nullptr && !other_optimizer) return false;
    job_.note(flag);
    if (other_optimizer) {
      leave_out(flag, value, "is not modelled; predicted with Adam's");
    } else if (neutral->empty() || value != *neutral) {
      leave_out(flag, neutral->empty() ? "" : value,
                "changes time or memory and is not modelled; predicted without it");
    }
    return true;
  }

  void leave_out(const std::string& flag, const std::string& value, const std::string& why) {
    if (!seen_.insert(flag).second) return;
    job_.report.left_out.push_back(
        fmt::format("{}{}{} {}", flag, value.empty() ? "" : " ", printable(value), why));
  }

  /// Words between blanks, commas and brackets.
  void list(const std::string& reader, const std::string& flag, const std::string& value) {
    if (value.find('$') != std::string::npos) {
      job_.set_flag("open." + flag);
      return leave_out(flag, value, "could not be resolved; predicted without it");
    }
    if (flag == "--attention-config" && (names(value, "mamba") || names(value, "rwkv"))) {
      throw InputError(fmt::format(
          "{}: {} {}: layers without attention; only decoders of attention and MLPs are modelled",
          file_, flag, printable(value)));
    }
    std::vector<std::string> words;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t begin = value.find_first_not_of(kBetweenWords, at);
      if (begin == std::string::npos) break;
      at = std::min(value.find_first_of(kBetweenWords, begin), value.size());
      words.push_back(value.substr(begin, at - begin));
    }
    if (!take_list(reader, flag, words, job_)) {
      leave_out(flag, value, "is not known; predicted without it");
    }
  }

  /// Alone, or as Hugging Face's Trainer has it, with True or False.
  void turn(const std::string& flag, const Effect& effect, const std::string& value) {
    if (switches_off(value)) {
      constexpr std::string_view kRepeats[] = {"--gradient-checkpointing",
                                               "--activation-checkpointing"};
      if (std::ranges::find(kRepeats, flag) != std::end(kRepeats)) {
        job_.set("plan.recompute", "none");
      }
      return;
    }
    job_.note(flag);
    if (std::ranges::find(kSomeLayers, value) != std::end(kSomeLayers)) {
      return leave_out(flag, value, "repeats some layers only; predicted without it");
    }
    if (value == "offload") take("--activation-offloading", "");  // axolotl's checkpoints
    // The Trainer names a file, or a configuration of its own by the stage.
    const bool file = value.ends_with(".json") || value.find("zero") != std::string::npos;
    if (flag == "--deepspeed" && file) take("--deepspeed-config", value);
    take_effect(effect, job_);
  }

  /// `8`, `a100:8`, `gpu:8` or `gpu:a100:8`, of a list with commas the first of GPUs; one device
  /// where there is no number. Other resources (`--gres=nvme`) are none of ours.
  void devices(const std::string& flag, const std::string& value, const std::string& field) {
    if (value == "all") {  // of docker
      job_.report.assumed.push_back(flag + " all: all devices of a node");
      return;
    }
    std::string mine = value;
    if (flag == "--gres") {
      mine.clear();
      for (std::size_t at = 0; at < value.size() && mine.empty();) {
        const std::size_t end = std::min(value.find(',', at), value.size());
        if (value.compare(at, 3, "gpu") == 0) mine = value.substr(at, end - at);
        at = end + 1;
      }
      if (mine.empty()) return job_.report.ignored.push_back(flag + "=" + value);
    }
    if (flag == "--gpus" && mine.find_first_of(", ") != std::string::npos) {  // by their numbers
      const auto count =
          std::ranges::count_if(mine, [](char c) { return c == ',' || c == ' '; }) + 1;
      return number("--nproc-per-node", std::to_string(count), "devices_per_node");
    }
    const std::size_t last = mine.rfind(':');
    std::string count = last == std::string::npos ? mine : mine.substr(last + 1);
    std::string type = last == std::string::npos ? std::string() : mine.substr(0, last);
    if (flag == "--gres" && (last == std::string::npos || is_type(count))) {
      type = mine;
      count = "1";
    }
    const std::string name = type.substr(type.rfind(':') + 1);  // npos + 1 is 0
    if (!name.empty() && name != "gpu") job_.set("device_type", name);
    number(flag, count, field);
  }

  /// A type of device where a number could stand: `a100` of `gpu:a100`.
  static bool is_type(const std::string& text) {
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
  }

  /// `--nnodes=1:4`: as many as are there, which may be four.
  void range(const std::string& flag, const std::string& value, std::size_t colon,
             const std::string& field) {
    const auto least = whole(value.substr(0, colon));
    const std::string most = value.substr(colon + 1);
    if (!least || !whole(most)) return refuse_number(flag, value);
    number(flag, most, field);
    if (*least == whole(most)) return;
    job_.report.assumed.push_back(fmt::format("{} {}: the most of {}", flag, most, value));
  }

  void refuse_number(const std::string& flag, const std::string& value) {
    throw InputError(fmt::format("{}: {}: expected a whole number from 0 to {}, got {}", file_,
                                 flag, 1LL << 30, in_quotes(value)));
  }

  /// `$(nvidia-smi -L | wc -l)` and the like: as many as a node has.
  bool counts_devices(const std::string& flag, const std::string& value) {
    const bool of_node = flag == "--nproc-per-node" || flag == "--num-gpus";
    const bool counts = value.find("nvidia-smi") != std::string::npos ||
                        value.find("device_count") != std::string::npos;
    if (!of_node || !counts) return false;
    if (!job_.says(flag)) job_.set(flag, "0");
    job_.report.assumed.push_back(flag + " " + printable(value) + ": all devices of a node");
    return true;
  }

  void number(const std::string& flag, const std::string& value, const std::string& field) {
    if (counts_devices(flag, value)) return;
    if (value.find('$') != std::string::npos || value.find('`') != std::string::npos) {
      job_.set_flag("open." + flag);
      job_.report.assumed.push_back(
          fmt::format("{} is left out: {} could not be resolved", flag, printable(value)));
      return;
    }
    if (flag != "--nproc-per-node" && value == "auto") {
      job_.report.assumed.push_back(flag + " is left out: auto leaves it to the program");
      return;
    }
    if (flag == "--nproc-per-node" && (value == "gpu" || value == "auto")) {
      job_.report.assumed.push_back(flag + " " + value + ": all devices of a node");
      return;
    }
    if (const std::size_t colon = value.find(':'); colon != std::string::npos) {
      return range(flag, value, colon, field);
    }
    // Slurm takes `2-4`, too: at least that many.
    const std::string least = flag == "--nodes" ? value.substr(0, value.find('-', 1)) : value;
    // Values that nobody set, in torchtitan's configurations and in Python's words.
    if (value == "-1" || value == "none" || value == "None" || value == "null") return;
    const auto found = whole(least);
    if (!found || *found < 0 || *found > (1LL << 30)) return refuse_number(flag, least);
    const auto before = set_by_.find(field);
    if (const auto other = job_.value(field); before != set_by_.end() && other != *found) {
      job_.report.assumed.push_back(fmt::format("{} {}, which comes last, not {} {}", flag, *found,
                                                before->second, other.value_or(0)));
    }
    set_by_[field] = flag;
    (void)assign(field, std::to_string(*found), job_);
    job_.set_number(flag, *found);
  }

  std::string file_;
  NameSource source_;
  Facts& job_;
  std::set<std::string> seen_;
  std::map<std::string, std::string> set_by_;  ///< the flag that set a field last
};

}  // namespace

bool is_config_path(std::string_view word) {
  constexpr std::string_view kEndings[] = {".yaml", ".yml", ".toml", ".json"};
  return !word.starts_with('-') && word.find_first_of("=: ") == std::string_view::npos &&
         std::ranges::any_of(kEndings, [&](std::string_view end) { return word.ends_with(end); });
}

bool is_value_reader(const ForeignNames& names, std::string_view reader) {
  Facts scratch;
  return reader == kOverrides || take_tuning(reader, "", "", scratch) ||
         names.value_rules.contains(reader);
}

void read_flags(const std::string& file, const SaidFlags& flags, Facts& job, NameSource source) {
  Arguments arguments(file, source, job);
  for (const SaidFlag& said : flags) {
    if (said.value.starts_with('$') && job.names->switches.contains(said.flag)) {
      job.report.ignored.push_back(printable(said.value) + " (not resolved)");
    }
    arguments.take(said);
  }
}

void read_megatron_arguments(const std::string& file, const std::vector<std::string>& words,
                             Facts& job) {
  constexpr std::size_t kMostFlags = 10'000;
  Arguments arguments(file, NameSource::flag, job);
  std::size_t flags = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    // A variable alone, behind no flag that could take it, may have been flags.
    if (words[i].starts_with('$') &&
        (i == 0 || !words[i - 1].starts_with("--") || job.names->switches.contains(words[i - 1]))) {
      job.report.ignored.push_back(printable(words[i]) + " (not resolved)");
    }
    if (words[i] == "-np" && i + 1 < words.size()) {  // mpirun's number of processes
      arguments.take({"--gpus", words[i + 1]});
    }
    if (!words[i].starts_with("--")) continue;
    if (words[i].find_first_not_of('-') == std::string::npos) continue;
    if (++flags > kMostFlags) {
      throw InputError(fmt::format("{}: commands of over {} flags", file, kMostFlags));
    }
    const std::size_t equals = words[i].find('=');
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--") &&
               words[i + 1] != kCommandEnd) {
      value = words[i + 1];
    }
    if (equals == std::string::npos && takes_list(*job.names, words[i])) {
      for (std::size_t next = i + 2;
           next < words.size() && !words[next].starts_with('-') && words[next] != kCommandEnd;
           ++next) {
        value += " " + words[next];
      }
    }
    std::erase(value, '\'');  // quotes that came out of a quoted variable
    arguments.take({words[i].substr(0, equals), value});
  }
}

}  // namespace prequel
