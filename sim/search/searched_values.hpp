#pragma once

/// The values of axes that a search tries where nobody says them.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/search/searched_axes.hpp"

namespace prequel {

std::vector<std::int64_t> powers_of_two(std::int64_t most);  ///< 1, 2, 4, … up to that
std::vector<std::int64_t> up_to(std::int64_t most);          ///< 1, 2, 3, …
std::vector<std::int64_t> divisors(std::int64_t whole);      ///< in ascending order

/// Up to a node, or as far as device links reach; where nodes have one device, every group crosses
/// the network.
std::vector<std::int64_t> tensor_degrees(const Cluster& cluster, Reach reach);

/// Ranks that share a sequence, while each has tokens enough.
std::vector<std::int64_t> context_degrees(const SearchInputs& inputs, Reach reach);

/// The stack's, as far as the cluster's file tells what they cost.
std::vector<Dispatcher> known_dispatchers(const SearchInputs& inputs, bool everything);

/// Sets that save more and more memory.
std::vector<WordSet<RecomputeModule>> growing_recompute();

/// Returns what the stack overlaps, with and without tensor and expert ranks' communication.
std::vector<WordSet<Overlapped>> all_overlaps(const SearchInputs& inputs);

/// Frameworks whose stages need not be equal write such layouts.
std::vector<std::string> usual_layouts(const Software& software);

}  // namespace prequel
