#pragma once

/// `predict --explain KERNEL` and `predict --verbose`: which model priced which kernel.

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/text/terminal.hpp"
#include "models/job/library.hpp"
#include "sim/price/kernel_explanation.hpp"

namespace prequel {

/// Says where the constants at a path such as "device.gemm" come from; empty where nobody said.
using OriginOf = std::function<std::string(const std::string&)>;

/// By the files that `request` names, for `job` as it was read from them.
OriginOf origins(const Library& library, const JobRequest& request, const Job& job);

/// Those that have one of these names ("mlp in" and "mlp-in" are the same), or all of them where
/// one is "all". Throws InputError that names the nearest.
std::vector<ExplainedKernel> named_kernels(const std::vector<ExplainedKernel>& kernels,
                                           const std::vector<std::string>& names);

/// A line a kernel.
std::string kernel_table(const std::vector<ExplainedKernel>& kernels, double sec_per_iter,
                         const Terminal& terminal);

/// A paragraph a kernel: shape, work and limits; then where the constants come from.
std::string kernel_explanations(const std::vector<ExplainedKernel>& kernels, double sec_per_iter,
                                const OriginOf& origin, const Terminal& terminal);

nlohmann::ordered_json kernels_json(const std::vector<ExplainedKernel>& kernels,
                                    const OriginOf& origin);

}  // namespace prequel
