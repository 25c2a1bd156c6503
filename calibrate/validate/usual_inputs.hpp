#pragma once

/// Files that stand in for what a row names and nobody has.

#include <optional>
#include <string>

#include "calibrate/validate/measured_runs.hpp"
#include "hw/device.hpp"

namespace prequel {

class Library;
class Document;

/// Returns the device file of the card that a text names; nothing where no known card is named.
std::optional<std::string> usual_device(const Library& library, const std::string& text);

/// Tests whether a text names another card than the device: one of another name and other peaks or
/// memory, or the same with memory of another size. A text that names none is of no other.
bool is_other_card(const Library& library, const std::string& text, const Device& device);

/// The software file that is `asked` for, or the nearest release of its framework, marked with
/// `stands_for`. Tables are full of frameworks that no file is of: what data/stand_ins/stacks.json
/// names for how the row lays out its model, in the framework's year or the row's, then stands in,
/// marked with `other_framework`, too. Where a row asks for a fused attention kernel and what
/// stands in has none, it gets that of the year. Throws InputError for a broken file, and for a
/// name that is a known one but for a letter or two.
Document usual_stack(const Library& library, const MeasuredRun& run, const std::string& said,
                     bool has_experts);

}  // namespace prequel
