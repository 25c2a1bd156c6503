// Verdict of prequel's readers on JSON files: reader_verdict KIND reads one file a line from stdin
// and prints for each "accepted" or its problems, on a line.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>

#include <nlohmann/json.hpp>

#include "calibrate/readings/measurement_file.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"

namespace prequel {
namespace {

/// Fills in what a job leaves to the command line.
void read_as_job(const Library& library, const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto lacks = [&](const char* key) {
    return json.is_object() && (!json.contains(key) || json[key].is_null());
  };
  JobRequest request;
  request.job = "job";
  request.job_text = text;
  if (lacks("model")) request.model = "gpt3-175b";
  if (lacks("cluster")) request.cluster = "jean-zay-a100";
  (void)read_job(library, request);
}

/// A line of a file of measurements, which a good point follows.
void read_as_measurement(const std::string& scratch, const std::string& text) {
  std::ofstream(scratch) << text << "\n"
                         << R"({"op": "gelu", "bytes": 1e6, "time_s": 1e-5})"
                         << "\n";
  const MeasurementFile file = read_measurements(scratch);
  if (!file.unread.empty()) throw InputError(file.unread);
}

void read_as(const std::string& kind, const Library& library, const std::string& scratch,
             const std::string& text) {
  if (kind == "job") return read_as_job(library, text);
  if (kind == "measurement") return read_as_measurement(scratch, text);
  const Document document = Document::parse(kind, text);
  if (kind == "model") {
    (void)read_transformer(document);
  } else if (kind == "device") {
    (void)read_device(document);
  } else if (kind == "cluster") {
    (void)read_cluster(document);
  } else {
    (void)read_software(document);
  }
}

std::string verdict(const std::string& kind, const Library& library, const std::string& scratch,
                    const std::string& text) {
  try {
    read_as(kind, library, scratch, text);
    return "accepted";
  } catch (const InputError& error) {
    std::string problems = error.what();
    std::replace(problems.begin(), problems.end(), '\n', ';');
    return problems;
  }
}

}  // namespace
}  // namespace prequel

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: reader_verdict KIND SCRATCH-FILE\n";
    return 2;
  }
  const prequel::Library library({PREQUEL_DATA_DIR});
  for (std::string text; std::getline(std::cin, text);) {
    std::cout << prequel::verdict(argv[1], library, argv[2], text) << "\n";
  }
}
