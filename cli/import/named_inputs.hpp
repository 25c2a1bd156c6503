#pragma once

/// Consequences of the names that the user gives beside the files: the cluster, the software, the
/// plan.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/import/job/imported_job.hpp"
#include "cli/import/shell/script_inputs.hpp"
#include "models/job/library.hpp"

namespace prequel {

/// The user's words beside the files. Where a name is empty, runs get a cluster and modern
/// arguments a stack that knows them, and the report says so; all else has the stack of its
/// cluster.
struct ImportNames {
  std::optional<std::string> cluster, software;
  const Library* library{};                       ///< where names are looked up, if anywhere
  std::vector<Override> overrides{};              ///< fields that replace those of the job
  ScriptInputs script{};                          ///< what launch scripts are given along
  std::optional<Facts> model{};                   ///< in the place of the one that files have
  std::shared_ptr<const ForeignNames> foreign{};  ///< of the library; read where it is empty

  /// The number that replaces a field, by the last word on it.
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view path) const;
};

struct NamedInputs {
  std::optional<Cluster> cluster;
  std::optional<Software> software;
};
/// The cluster and the software that the job will be predicted with, where they can be read; what
/// is wrong with them their reader tells later.
NamedInputs look_up(const Facts& job, const ImportNames& names);

/// Puts the degrees, nodes and batch sizes that the user asks for, and the devices of a node that
/// the named cluster has, in the place of the files'; what followed from those follows anew. To be
/// called before `complete`.
void replace_by_names(Facts& job, const ImportNames& names);

/// Completes what files leave open and the user's names say: the global batch from the devices of
/// the cluster, the precision and the attention that the software has by default. Notes where the
/// software overlaps gradients otherwise than the files ask for, and what is still missing.
void complete_by_names(Facts& job, const ImportNames& names);

struct LaunchScript;

/// Notes where a script may name its model beside the flags that are known to: its variables, its
/// program, its other words.
void note_model_clues(const LaunchScript& script, Facts& job);
/// Notes that a file's own name may tell.
void note_file_clue(const std::string& file, Facts& job);

/// Takes from the model that the job names what no file says of its shape, where prequel has it
/// (models/job/model_names.hpp), and notes it as read; where it names none, from the model that is
/// named within the likeliest other text, and notes that as assumed.
void look_up_model(const Library* library, Facts& job);

}  // namespace prequel
