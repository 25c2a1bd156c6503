#pragma once

/// Facts that the files of a job state, before they are one.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/import/job/foreign_names.hpp"
#include "hw/base/words.hpp"

namespace prequel {

/// The report of an import: what was read, what prequel assumed though no file says it, what was
/// measured or would change the prediction but is not used, and the names of all else that was
/// passed over.
struct ImportReport {
  std::vector<std::string> read, assumed, left_out, ignored;
  /// The model's parameters, where its shape is known whole: all, and those that a token passes.
  std::optional<std::int64_t> parameters, active_parameters;
};

/// Begin of the names of a model file's keys that are of mixers other than plain attention.
inline const std::string kMixers = "mixers.";
inline constexpr const char* kModelLayers = "model.num_hidden_layers";

/// How sure a fact is, the surest first.
enum class Sureness : std::uint8_t {
  stated,   ///< by a flag or a key
  follows,  ///< from other facts
  usual,    ///< as the framework or the family of models has it by itself
  guessed,  ///< by the name of a flag or a file
  assumed,  ///< for want of anything better
};

template <>
inline constexpr std::array<std::string_view, 5> kWordsOf<Sureness>{"stated", "follows", "usual",
                                                                    "guessed", "assumed"};

/// Where a fact comes from.
struct Origin {
  Sureness sure{Sureness::follows};
  std::string file;  ///< empty for facts that no file says
  std::string said;  ///< a flag, a key, or the line of the report
};

struct Fact {
  std::string text;
  std::size_t origin{};  ///< its number among the job's
};

/// A value whose flag or key is not known, and the field that its name is of.
struct Guess {
  std::string field, value;
  bool number{};           ///< a whole number, which knows what it is of better than a word does
  std::string said, told;  ///< flag and value; for messages: `layers 24: --my-layers`
  Origin origin{};
};

/// How likely a text names the model that is trained.
enum class ClueRank : std::uint8_t {
  named,
  flag,  ///< whose name is of models or checkpoints
  configuration,
  variable,
  program,
  word,
  tokenizer,
  file
};

/// A text in which a model may be named that nothing else says.
struct ImportedClue {
  ClueRank rank{};
  std::string what;  ///< for messages: a flag, a variable
  std::string text;
  bool names_models{};  ///< as `ModelClue` has it
};

/// Facts of a job by name, each with its origin; one that is set later overrides. Names are the
/// axes of a plan (`plan.tp`), keys of the model file (`model.hidden_size`, `mixers.layer_types`),
/// flags and keys as they are spelt (switches as 1), other fields of a job (`devices_per_node`),
/// marks of the programs that wrote the files (`mark.fully_sharded`), flags whose value only a run
/// would tell (`open.--nnodes`), and what rules ask of the user and the stack (`user.plan.tp`,
/// `stack.name`).
class Facts {
 public:
  [[nodiscard]] bool says(std::string_view name) const { return facts_.find(name) != facts_.end(); }
  /// Returns the text of a fact; an empty one where nothing says it.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> value(std::string_view name) const;
  /// Returns all whose names begin so.
  [[nodiscard]] auto with(std::string_view begin) const {
    const auto first = facts_.lower_bound(begin);
    return std::ranges::subrange(first, std::find_if(first, facts_.end(), [&](const auto& one) {
                                   return !one.first.starts_with(begin);
                                 }));
  }
  [[nodiscard]] const Origin& origin(const Fact& fact) const { return origins_[fact.origin]; }

  /// Sets a text; an empty one takes it back.
  void set(const std::string& name, std::string text);
  void set_flag(const std::string& name, bool is = true) { set(name, is ? "true" : "false"); }
  /// Sets a number; nothing takes it back.
  void set_number(const std::string& name, std::optional<std::int64_t> number);
  /// Sets a text that nothing says, and tells so in the report.
  void assume(const std::string& name, std::string text, const std::string& line);
  /// Notes that a flag is there, unless its value is known.
  void note(const std::string& flag);
  void drop(const std::string& name) { facts_.erase(name); }
  /// Drops all whose names begin so.
  void drop_all(std::string_view begin);

  /// Tests whether the files are of this framework: a data file in data/import/.
  [[nodiscard]] bool is_of(std::string_view framework) const;
  /// Gives the model a name where it has none.
  void name_model(const std::string& name) {
    if (!says("model.name")) set("model.name", name);
  }
  /// Tests whether layers and width of the model are known.
  [[nodiscard]] bool has_shape() const {
    return says("model.num_hidden_layers") && says("model.hidden_size");
  }

  /// Names of other programs for what is read; empty: prequel's alone.
  std::shared_ptr<const ForeignNames> names = ForeignNames::none();
  /// Settings that a command line makes in configurations, by the path of the value.
  std::map<std::string, std::string> settings;
  std::map<std::string, std::string> script_flags;  ///< of scripts, which go over values so named
  std::map<std::string, std::string> environment;   ///< that the user gives
  std::vector<ImportedClue> model_clues;
  /// Values of flags that are not known, whose names tell what they are; they count where none
  /// that is known says the same.
  std::vector<Guess> guesses;
  std::vector<std::string> tokenizer;  ///< what names it: its files, then its type
  /// Words of a template and what `sed` puts in their place: a script fills its config so.
  std::vector<std::pair<std::string, std::string>> substitutions;
  /// Paths of configurations, as scripts and other configurations name them.
  std::vector<std::string> files_named;
  std::vector<std::string> bases_named;  ///< and of those that they extend
  ImportReport report;

 private:
  friend class OriginScope;
  std::map<std::string, Fact, std::less<>> facts_;
  std::vector<Origin> origins_{Origin{}};
  std::size_t origin_{};  ///< of facts that are set now
};

/// A field of a job, and where its value is from.
struct FieldOrigin {
  std::string field, value;
  Origin from;
};
/// Returns those of the plan, the model, the devices, the cluster and the software.
std::vector<FieldOrigin> origins_of(const Facts& facts);
/// Writes them as lines: `plan.tp 8 (stated): train.sh, --tensor-model-parallel-size`.
std::string origins_text(const std::vector<FieldOrigin>& fields);

/// Facts that are set while it lives are from `origin`.
class OriginScope {
 public:
  OriginScope(Facts& facts, Origin origin) : facts_(facts), before_(facts.origin_) {
    facts.origin_ = facts.origins_.size();
    facts.origins_.push_back(std::move(origin));
  }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;
  /// Notes the line of the report that tells the facts.
  void tell(std::string line) { facts_.origins_[facts_.origin_].said = std::move(line); }
  ~OriginScope() { facts_.origin_ = before_; }

 private:
  Facts& facts_;
  std::size_t before_;
};

}  // namespace prequel
