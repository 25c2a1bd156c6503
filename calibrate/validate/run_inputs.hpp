#pragma once

/// Inputs of predictions for the rows of a table of measured runs: the files that they name.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/validate/measured_runs.hpp"
#include "models/job/inputs.hpp"
#include "models/job/library.hpp"
#include "models/job/unpriced.hpp"

namespace prequel {

/// The cluster file of a row; where there is none of that name, the usual machine with the row's
/// card (column `gpu`, else a card in the cluster's name) and with the row's devices a node, marked
/// with `stands_for`. Throws InputError where no card is told either.
Document cluster_document(const Library& library, const MeasuredRun& run);

/// The files that rows name, their cells over the files' defaults. Throws InputError for unknown
/// names and for what is not modelled.
class RunInputs {
 public:
  RunInputs(const Library& library, std::vector<Override> overrides);
  RunInputs(const RunInputs&) = delete;
  RunInputs& operator=(const RunInputs&) = delete;

  /// May be asked by several threads; each file is read once.
  [[nodiscard]] ResolvedScenario scenario(const MeasuredRun& run);
  /// Returns what a row says and its prediction does not heed: a card that its cluster does not
  /// have, columns that nobody knows.
  [[nodiscard]] std::vector<std::string> unheeded(const MeasuredRun& run, const Scenario& scenario);
  /// Throws InputError where the overrides fit the files of none of `runs`.
  void check_overrides(const std::vector<MeasuredRun>& runs) const;

 private:
  /// Without a model, which each row says for itself; whether it has experts chooses what stands in
  /// for an unknown stack.
  [[nodiscard]] std::shared_ptr<const Inputs> files(const MeasuredRun& run, bool has_experts);
  [[nodiscard]] Inputs read(const MeasuredRun& run, bool has_experts,
                            const std::vector<Override>& overrides) const;

  /// The row's model, with what its columns leave out as a shipped one of that name has it.
  /// Throws InputError for half a shape, and for none of a model that is not shipped.
  [[nodiscard]] Transformer model_of(const MeasuredRun& run);

  /// Throws InputError where a column that is not read asks for what is not priced.
  void refuse_unpriced(const MeasuredRun& run);

  const Library& library_;
  std::vector<Override> overrides_;
  std::mutex mutex_;                                           ///< of what follows
  std::map<std::string, std::optional<Transformer>> shipped_;  ///< by the names of rows
  std::map<std::string, std::shared_ptr<const Inputs>> known_;
  std::map<std::pair<std::string, std::string>, bool> other_cards_;  ///< by `gpu` and device
  std::vector<UnpricedRow> unpriced_;
};

}  // namespace prequel
