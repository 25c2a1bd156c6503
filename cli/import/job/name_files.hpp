#pragma once

/// Reads what other programs call a job's settings from the files in data/import/.

#include <memory>
#include <string>
#include <vector>

#include "cli/import/job/foreign_names.hpp"

namespace prequel {

class Cursor;
class Document;
class Library;

/// Reads rules; one with `each` stands for as many as that has words, with the word for `#`.
std::vector<Rule> read_list_of_rules(const Cursor& list);

/// Reads all files of data/import/. Throws InputError with every problem of the first that has any.
ForeignNames read_foreign_names(const Library& library);

/// Reads them for jobs; without a library those that the program brings along.
std::shared_ptr<const ForeignNames> names_of_library(const Library* library);

/// Reads one of them; a file of another kind is passed over. Throws InputError with every problem
/// of the file.
void read_name_file(const Document& file, const std::string& name, ForeignNames& names);

}  // namespace prequel
