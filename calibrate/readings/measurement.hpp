#pragma once

/// One measured kernel or collective, as tables and measuring programs tell it.

#include <cstddef>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "calibrate/measure/work.hpp"
#include "hw/kernels/mixers.hpp"
#include "hw/terms/vocabulary.hpp"

namespace prequel {

/// `count` kernels of one kind, one after another; `stream.bytes` is the traffic of each.
struct MeasuredStream {
  Stream stream;
  double count{1.0};
};

struct MeasuredAttention {
  FusedAttention attention;
  std::string kernel;  ///< as the table names it; a device file knows it by `measured_as`
};

/// Kernels that were timed as one: a product with the casts of its operands, the products of
/// experts, a whole layer of them, a scan or sparse attention with its backward pass.
struct MeasuredKernels {
  std::vector<std::variant<Gemm, GroupedGemm, Stream, Scan, SparseAttention>> kernels;
};

using MeasuredCollective = CollectiveWork;

/// Tokens to their experts, or back, over an expert-parallel group of `ranks`.
struct MeasuredDispatch {
  Dispatch dispatch;
  int ranks{};
  int nodes{1};
  double units{};  ///< compute units that the kernels had; 0: as many as they take by default
};

using MeasuredCopy = HostCopy;

/// A product while a collective runs on the same device from the beginning to the end.
struct MeasuredBeside {
  Gemm gemm;
};

/// A kernel that measuring programs time and no model prices: launches, chains of kernels.
struct MeasuredOther {
  std::string op;
};

/// The cells of a row by the name of their column.
using Fields = std::map<std::string, std::string>;

struct Measurement {
  std::variant<Gemm, MeasuredKernels, MeasuredStream, MeasuredAttention, MeasuredCollective,
               MeasuredDispatch, MeasuredCopy, MeasuredBeside, MeasuredOther>
      what;
  Seconds time{};
  Fields fields;  ///< of the row, and `operator` and `size_class` where the row lacks them
};

/// Reads the measurement of a row. Which operator it is follows from `op` where that names one of
/// the last three, else from its columns: `topk` and `op` or `phase` (dispatch, combine) for tokens
/// on their way to experts, whose `library` says the dispatcher; `ranks` for a collective;
/// `m_per_group`, `n`, `k` for a grouped product; `m`, `n`, `k` for a GEMM, where `recipe` says how
/// its activation was cast in the same time; `local_rows` and `inter` for a layer of experts; `seq`
/// and `v_heads` or `k_heads` for a mixer, which `kernel` names; `seq` and `heads` for attention;
/// `op` and `bytes` for a memory-bound kernel. Times in `time_us`, `time_ms` (or `ms`) or `time_s`,
/// or as `tflops` of products and attention, or as `gb_s` of dispatches: of the copies that a token
/// makes, one for each rank (or node, where `level` is rdma) that holds a chosen expert, its own
/// too. Throws InputError (without place) that says which cell is missing or not sound.
Measurement read_measurement(Fields fields);

/// A row that times a dispatch and its combine (`dispatch_us`, `combine_us`) as one of each; any
/// other as it is.
std::vector<Fields> both_ways(Fields fields);

/// The content of a file of measured points.
struct MeasurementFile {
  std::vector<Measurement> points;
  std::vector<std::string> unread;             ///< "FILE:LINE: why", for every row left out
  std::map<std::string, std::string> context;  ///< of a measurement file: device, versions, …
  std::vector<std::string> notes;              ///< what it says beside points
};

}  // namespace prequel
