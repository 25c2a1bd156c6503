#pragma once

/// Answers of `prequel import`, made without output of their own.

#include <string>
#include <vector>

#include "cli/import/foreign_file.hpp"
#include "cli/translate/import_options.hpp"

namespace prequel {

struct ImportAnswer {
  std::string job;   ///< a `prequel/job/1` file; empty where the files hold a log
  std::string runs;  ///< CSV, of a log
  ImportReport report;
  std::vector<FieldOrigin> fields;  ///< of the job, where the options ask for them
};

/// Reads the options' files into a job or a table of runs. Throws InputError.
ImportAnswer answer_import(const Library& library, const ImportOptions& options);

/// The document `prequel/import/1`: the job or the table, and the report.
std::string import_json(const ImportAnswer& answer);

}  // namespace prequel
