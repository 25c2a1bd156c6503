#pragma once

/// Finds the files of data/ by name and reads a job: the one place where models, devices, clusters
/// and software meet a plan.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/inputs.hpp"
#include "models/job/model_names.hpp"
#include "models/job/override.hpp"
#include "models/job/what_if_question.hpp"

namespace prequel {

class Document;
class FileCache;

/// A file that an answer rests on.
struct InputFile {
  std::string kind;    ///< "model", "device", "cluster", "software", "job", "runs"
  std::string name;    ///< as it was asked for
  std::string sha256;  ///< of its content

  auto operator<=>(const InputFile&) const = default;
};

/// The sources that a library reads beside its directories, and a cache for the next library.
struct LibrarySources {
  std::map<std::string, std::string> documents;  ///< JSON texts, by the names that ask for them
  std::shared_ptr<FileCache> cache;              ///< of files; empty: one of its own
};

/// Tests whether a file is asked for by its path (it has a slash or ends in .json), not by a name.
bool is_path(const std::string& name);

/// The directories that hold models/, devices/, clusters/, software/ and jobs/, first match wins.
class Library {
 public:
  /// `extra` directories, then $PREQUEL_DATA, share/prequel beside the program's bin, then what the
  /// program carries inside itself, or else the installed one and the source tree.
  explicit Library(const std::vector<std::string>& extra, LibrarySources sources = {});

  /// The JSON file of that kind ("models", "devices", …): one of the documents, a path as it is, or
  /// else a name that is looked up; a model's as people write it (models/job/model_names.hpp). For
  /// software whose release is not known it is the nearest release of the same framework
  /// (models/stack/release.hpp), marked with `stands_for`. A file that says `"like": "NAME"` is
  /// what that one holds, changed as a JSON merge patch (RFC 7396). Throws InputError that names
  /// the nearest, and begins with who asked (`from`: a flag, or a file and its key).
  [[nodiscard]] Document open(const std::string& kind, const std::string& name,
                              const std::string& from = {}) const;
  /// Tests whether a file is meant, whatever is wrong with it: by its path, or by a name that is
  /// there.
  [[nodiscard]] bool means_file(const std::string& kind, const std::string& name) const;
  /// The model file that a name means, as people write it; nothing where none has that shape.
  [[nodiscard]] std::optional<std::string> model_file(const std::string& name) const;
  /// The model file that the first of these texts means that has a model's name in it.
  [[nodiscard]] std::optional<ModelWithin> model_within(const std::vector<ModelClue>& clues) const;
  /// Names of all files of a kind, sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& kind) const;
  /// The first of the directories that is there; empty if none is.
  [[nodiscard]] std::string directory() const;
  /// The document of that name, if one was given.
  [[nodiscard]] std::optional<std::string> document(const std::string& name) const;

  /// All that was opened so far, or noted; each once, in the order of kinds and names. Names of
  /// other tools count as one.
  [[nodiscard]] std::vector<InputFile> inputs() const;
  /// The same files, whose opening this one does not know of: for those who look through many.
  [[nodiscard]] Library apart() const;
  /// Adds to them a file that was read elsewhere.
  void note_input(const std::string& kind, const std::string& name, std::string_view content) const;

 private:
  [[nodiscard]] Document find(const std::string& kind, const std::string& name,
                              const std::string& from) const;
  struct Opened;
  [[nodiscard]] Document read(const std::string& kind, const std::string& name,
                              const std::string& path) const;

  std::vector<std::string> directories_;
  std::size_t own_directories_{};  ///< of these, the first: folders of the user's own
  LibrarySources sources_;
  std::shared_ptr<Opened> opened_;
};

/// Applies the overrides whose path begins with `input` ("device") to its document.
void apply_overrides(Document& document, const std::vector<Override>& overrides,
                     const std::string& input);

/// A training run as measured, where a job says it.
struct Measured {
  std::optional<Seconds> sec_per_iter;
  std::optional<double> tflops_per_gpu;
  std::optional<double> memory_gib;
  std::string source;
};

/// The user's question: a job file, names that replace those of the job, and fields that replace
/// everything.
struct JobRequest {
  std::optional<std::string> job;
  std::optional<std::string> model, device, cluster, software;
  /// Texts of `job` and `model` as files of prequel, where they were translated from other tools'.
  std::optional<std::string> job_text, model_text;
  std::vector<Override> overrides;
};

/// A job read: all inputs, and the plan as asked for.
struct Job : Inputs {
  PlanRequest plan;
  WhatIf what_if;
  std::optional<double> sequences;   ///< of the data set whose lengths the plan names
  std::optional<Measured> measured;  ///< unless another model, cluster, stack or plan was asked for
};

/// Adds to `edited` what overrides, or a file of the user's own, changed of the constants of an
/// input
/// ("software", "device", "cluster"); what says which stack, size or default is no constant.
void note_edits(const Document& document, const std::vector<Override>& overrides,
                const std::string& input, std::vector<std::string>& edited);

/// Reads everything that the request names. Throws InputError with the problems of the first file
/// that has any.
Job read_job(const Library& library, const JobRequest& request);

/// The job with its plan filled and checked. Throws InputError with every rule that it breaks.
inline ResolvedScenario resolve(const Job& job) {
  return resolve(job, job.plan);
}

}  // namespace prequel
