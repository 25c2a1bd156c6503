/// Runs that papers printed and that no table of data/runs holds.

#include <cmath>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "calibrate/validate/validation.hpp"

using namespace prequel;

namespace {

/// Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (arXiv
/// 2205.05198): shapes of its table 3, seconds of its table 5, and of its last section for 2,240
/// GPUs. `full` runs without sequence parallelism.
constexpr const char* kSelectiveRecompute =
    "id,source,cluster,framework,software,nodes,gpus,model,layers,hidden,heads,seq_len,vocab,mlp,"
    "position,tied_embeddings,dp,tp,pp,vpp,schedule,sequence_parallel,zero_stage,offload,mbs,gbs,"
    "precision,attention,recompute,sec_per_iter,status\n"
    "22b-full,p,selene,megatron-lm,megatron-lm-2022,1,8,22B,48,6144,64,2048,51200,gelu,learned,1,"
    "1,8,1,1,1f1b,0,0,none,4,4,fp16,fused-softmax,full,1.42,ok\n"
    "22b,p,selene,megatron-lm,megatron-lm-2022,1,8,22B,48,6144,64,2048,51200,gelu,learned,1,"
    "1,8,1,1,1f1b,1,0,none,4,4,fp16,fused-softmax,selective,1.10,ok\n"
    "175b-full,p,selene,megatron-lm,megatron-lm-2022,8,64,175B,96,12288,96,2048,51200,gelu,learned,"
    "1,1,8,8,3,interleaved-1f1b,0,0,none,1,64,fp16,fused-softmax,full,18.13,ok\n"
    "175b,p,selene,megatron-lm,megatron-lm-2022,8,64,175B,96,12288,96,2048,51200,gelu,learned,"
    "1,1,8,8,3,interleaved-1f1b,1,0,none,1,64,fp16,fused-softmax,selective,13.75,ok\n"
    "530b-full,p,selene,megatron-lm,megatron-lm-2022,35,280,530B,105,20480,128,2048,51200,gelu,"
    "learned,1,1,8,35,3,interleaved-1f1b,0,0,none,1,280,fp16,fused-softmax,full,49.05,ok\n"
    "530b,p,selene,megatron-lm,megatron-lm-2022,35,280,530B,105,20480,128,2048,51200,gelu,"
    "learned,1,1,8,35,3,interleaved-1f1b,1,0,none,1,280,fp16,fused-softmax,selective,37.83,ok\n"
    "1t-full,p,selene,megatron-lm,megatron-lm-2022,64,512,1T,128,25600,160,2048,51200,gelu,"
    "learned,1,1,8,64,1,1f1b,0,0,none,1,512,fp16,fused-softmax,full,94.42,ok\n"
    "1t,p,selene,megatron-lm,megatron-lm-2022,64,512,1T,128,25600,160,2048,51200,gelu,"
    "learned,1,1,8,64,1,1f1b,1,0,none,1,512,fp16,fused-softmax,selective,71.49,ok\n"
    "530b-dp8,p,selene,megatron-lm,megatron-lm-2022,280,2240,530B,105,20480,128,2048,51200,gelu,"
    "learned,1,8,8,35,3,interleaved-1f1b,1,0,none,1,2240,fp16,fused-softmax,selective,39.15,ok\n";

std::map<std::string, ValidatedRun> validated(const std::string& table,
                                              const std::vector<Override>& overrides = {}) {
  std::istringstream in(table);
  const Library library({});
  std::map<std::string, ValidatedRun> by_id;
  for (ValidatedRun& run : validate_runs(library, read_measured_runs(in, "paper"), overrides)) {
    by_id[run.run.id] = std::move(run);
  }
  return by_id;
}

/// Mean of the absolute errors of the named runs.
double mean_error(const std::map<std::string, ValidatedRun>& runs,
                  const std::vector<std::string>& ids) {
  double sum = 0;
  for (const std::string& id : ids) sum += std::abs(runs.at(id).time_error.value());
  return sum / static_cast<double>(ids.size());
}

}  // namespace

TEST_CASE("the GEMM factor fitted to full recompute meets the runs with selective recompute") {
  const auto runs = validated(kSelectiveRecompute);
  CHECK(mean_error(runs, {"22b-full", "175b-full", "530b-full", "1t-full"}) < 0.017);
  CHECK(mean_error(runs, {"22b", "175b", "530b", "1t", "530b-dp8"}) < 0.026);
  for (const auto& [id, run] : runs) {
    CAPTURE(id);
    CHECK(run.fits);
    CHECK(std::abs(run.time_error.value()) < 0.045);
  }
  const auto unfitted =
      validated(kSelectiveRecompute, {{"software.kernels.gemm_time_factor", "1.06", "--set"}});
  CHECK(mean_error(unfitted, {"22b-full", "175b-full", "530b-full", "1t-full"}) > 0.05);
}

TEST_CASE("what sequence parallelism and selective recompute save is met within two points") {
  const auto runs = validated(kSelectiveRecompute);
  for (const char* model : {"22b", "175b", "530b", "1t"}) {
    CAPTURE(model);
    const ValidatedRun& selective = runs.at(model);
    const ValidatedRun& full = runs.at(std::string(model) + "-full");
    const double measured = *full.run.sec_per_iter / *selective.run.sec_per_iter;
    const double predicted =
        full.prediction->sec_per_iter.value / selective.prediction->sec_per_iter.value;
    CHECK(std::abs(predicted / measured - 1.0) < 0.02);
  }
}

TEST_CASE("a release that is not known is stood in for by the nearest, with a wider error") {
  std::string table = kSelectiveRecompute;
  for (std::size_t at = 0; (at = table.find("megatron-lm-2022", at)) != std::string::npos;) {
    table.replace(at, 16, "megatron-lm-2031");
  }
  for (const auto& [id, run] : validated(table)) {
    CAPTURE(id);
    CHECK(run.stand_in == "megatron-core-2026");
    CHECK(run.prediction->relative_error == kUnknownReleaseError);
    CHECK(run.prediction->warnings.front().starts_with("software megatron-lm-2031 is not known"));
  }
}
