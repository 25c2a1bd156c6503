#pragma once

/// Commands of the program: they print the answers. Each returns the exit status.

namespace prequel {

struct CalibrateAdviseOptions;
struct CalibrateCheckOptions;
struct CalibrateCompareOptions;
struct CalibrateFitOptions;
struct CalibrateMeasureOptions;
struct CalibrateRunsOptions;
struct CalibrateSpreadOptions;
struct CommonOptions;
struct CompareOptions;
struct ImportOptions;
struct PredictOptions;
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

}  // namespace prequel
