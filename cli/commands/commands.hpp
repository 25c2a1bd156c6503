#pragma once

/// Commands of the program: they print the answers. Each returns the exit status.

#include <string>
#include <string_view>
#include <vector>

namespace prequel {

struct CalibrateAdviseOptions;
struct CalibrateCheckOptions;
struct CalibrateCompareOptions;
struct CalibrateFitOptions;
struct CalibrateMeasureOptions;
struct CalibrateRunsOptions;
struct CommonOptions;
struct CompareOptions;
struct ImportOptions;
class Library;
struct MeasurementFile;
struct PredictOptions;
struct Scenario;
struct SearchOptions;
struct ShowOptions;
struct ValidateOptions;

int run_predict(const CommonOptions& common, const PredictOptions& options);
int run_search(const CommonOptions& common, const SearchOptions& options);
int run_compare(const CommonOptions& common, const CompareOptions& options);
int run_import(const CommonOptions& common, const ImportOptions& options);
int run_show(const CommonOptions& common, const ShowOptions& options);
int run_validate(const CommonOptions& common, const ValidateOptions& options);
int run_calibrate_check(const CommonOptions& common, const CalibrateCheckOptions& options);
int run_calibrate_fit(const CommonOptions& common, const CalibrateFitOptions& options);
/// Does not return where it succeeds: prequel-measure runs in this process's place, so that
/// signals reach it.
int run_calibrate_measure(const CommonOptions& common, const CalibrateMeasureOptions& options);
int run_calibrate_compare(const CommonOptions& common, const CalibrateCompareOptions& options);
int run_calibrate_runs(const CommonOptions& common, const CalibrateRunsOptions& options);
int run_calibrate_advise(const CommonOptions& common, const CalibrateAdviseOptions& options);

/// Reads the files, keeps the rows that meet all filters (`--where`), and names on stderr what
/// could not be read. Throws InputError when nothing is left.
MeasurementFile read_chosen_rows(const CommonOptions& common, const std::vector<std::string>& files,
                                 const std::vector<std::string>& where);

/// Prints the text for the target of that name on stdout and, unless `quiet`, what it leaves out on
/// stderr.
void print_emitted(std::string_view target, const Scenario& scenario, const Library& library,
                   bool quiet);

}  // namespace prequel
