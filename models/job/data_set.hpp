#pragma once

/// Data sets whose lengths were published.

#include <optional>
#include <string>

namespace prequel {

class Document;

/// A data set, as a file of data/lengths has it.
struct DataSet {
  std::string distribution;         ///< as the axis `lengths` has it
  std::optional<double> sequences;  ///< in it
};

/// Throws InputError with the problems of the file.
DataSet read_data_set(const Document& file);

/// Whether the axis `lengths` names a data set: neither `fixed`, nor a distribution, nor a file.
bool names_data_set(const std::string& lengths);

}  // namespace prequel
