#pragma once

/// Many plans at once, for programs that sweep: tables in, tables out.

#include <nlohmann/json_fwd.hpp>

#include "cli/call/call_session.hpp"

namespace prequel {

/// Predicts a table of plans. `arguments` is what all rows share, as `predict` takes it. `columns`
/// has a list for each axis of a plan that rows differ in; null leaves a cell to what they share.
/// Returns the columns `sec_per_iter`, `tokens_per_sec`, `tokens_per_sec_per_gpu`, `mfu`,
/// `peak_memory_gib`, `verdict` and `problem`, as long as those: a plan that the rules refuse has
/// nothing but its problem. Seconds and memory are those of `predict`, to the last bit. Throws
/// InputError for columns that are no axis, lists of unequal length and values that no plan has.
nlohmann::ordered_json predict_many(const nlohmann::ordered_json& arguments,
                                    const nlohmann::ordered_json& columns,
                                    const CallSession& session);

}  // namespace prequel
