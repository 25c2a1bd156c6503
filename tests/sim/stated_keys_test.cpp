/// Effect of every key that files state: each one that the schemas of models, clusters, devices and
/// stacks know changes the prediction of one of these jobs, how sure it is, or what is said of it;
/// or it stands in a list of keys that say something else, with the reason.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "hw/base/errors.hpp"
#include "hw/base/text.hpp"
#include "sim/answer/interval.hpp"
#include "sim/answer/prediction.hpp"
#include "tests/models/shipped.hpp"
#include "tests/sim/explained_kernels.hpp"

namespace prequel {
namespace {

using Json = nlohmann::json;
using Path = std::vector<std::string>;  // keys; "*" is any element or any name

/// A job, and what is set over its files, with blanks between.
struct StatedBase {
  const char* model;
  const char* cluster;
  const char* software;  ///< nullptr: the cluster's
  const char* settings;
};

/// Values that stacks and devices may state and few do.
#define STREAM R"({"launch_s":1e-6,"memory_fraction":0.5,"cached":{"bytes":"1MB","fraction":0.6}})"
#define GEMM                                                                                   \
  R"({"model":"tiled","efficiency":0.8,"launch_s":2e-6,"relative_error":0.05,)"                \
  R"("tiles":[{"m":128,"n":128,"quality":1},{"m":64,"n":64,"quality":0.3}],"splits":[1,2,4],)" \
  R"("tile_overhead_s":1e-6,"tail":0.5,"l2_rate":"4TB/s","memory_fraction":0.8,)"              \
  R"("split_s":1e-6,"droop":0.1,"wgrad_factor":1.1,"gradient_bytes":4})"
/// Products of formats that may leave the tensor cores.
#define HALF_GEMM                                                                                \
  R"({"model":"tiled","efficiency":0.8,"launch_s":2e-6,"relative_error":0.05,)"                  \
  R"("tiles":[{"m":128,"n":128,"quality":1},{"m":64,"n":64,"quality":0.3}],"splits":[1,2,4],)"   \
  R"("tile_overhead_s":1e-6,"tail":0.5,"l2_rate":"4TB/s","memory_fraction":0.8,"split_s":1e-6,)" \
  R"("droop":0.1,"wgrad_factor":1.1,"gradient_bytes":4,"misaligned_fraction":0.5})"
#define LINKS(rate)                                                                        \
  R"("latency_s":1e-6,"step_s":1e-7,"fill_s":1e-6,"local_bandwidth":"1TB/s","bandwidth":)" \
  "\"" rate "GB/s\""
#define COLLECTIVES(tree) \
  "{" LINKS("3") R"(,"overrides":[{"op":"all_gather","ranks":16,)" LINKS("2") "}]," \
  R"("tree":{)" LINKS(tree) R"(},"nvls":{"min_ranks":8,"latency_s":1e-6,"fill_s":1e-6,)"                  \
  R"("local_bandwidth":"1TB/s","bandwidth":"4GB/s"}})"
#define WAY R"({"latency_s":1e-5,"link_rate":"3GB/s","row_s":1e-6,"unit_rate":"1GB/s"})"
#define DISPATCHER                                                                            \
  R"({"compute_units":20,"network_share":0.5,"network_limit":"99GB/s","network_row_s":1e-9,)" \
  R"("network_beside":0.5,"dispatch":)" WAY R"(,"combine":)" WAY "}"

#define LINK R"("bandwidth":"1GB/s","efficiency":0.5)"
#define FAT_TREE                                                                                  \
  R"({"kind":"fat-tree","levels":3,"radix":32,"over_subscription":2,"core_over_subscription":2,)" \
  R"("rail_optimized":false,)" LINK "}"
#define DRAGONFLY                                                       \
  R"({"kind":"dragonfly","groups":8,"routers":4,"nodes_per_router":2,)" \
  R"("global_links":2,"local":{)" LINK R"(},"global":{)" LINK "}}"
#define EDGES                                                                       \
  R"({"kind":"edges","switches":["a","b","c"],"edges":[{"between":["a","b"],)" LINK \
  "},"                                                                              \
  R"({"between":["b","c"],"bandwidth":"0.1GB/s"}],"attachments":[["a","a","a","a","a","a","b","b"],["a","b","a","b","a","b","a","b"]]})"

const std::vector<StatedBase>& stated_bases() {
  static const std::vector<StatedBase> all{
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.tp=2 plan.pp=2 plan.cp=2 plan.vpp=2 plan.gbs=64 plan.seq_len=8192 "
       "plan.zero=1"},
      {"llama-3-8b", "dgx-h100", nullptr,
       "plan.nodes=1 plan.tp=8 plan.gbs=8 plan.seq_len=2048 plan.zero=0 plan.mbs=1 "
       "plan.sequence_parallel=false"},
      {"deepseek-v3", "gb200-nvl72", "megatron-core-2026",
       "plan.nodes=64 plan.pp=4 plan.ep=64 plan.gbs=2048 plan.seq_len=4096 plan.zero=1 "
       "plan.dispatcher=hybridep plan.precision=fp8 plan.fp8_recipe=mxfp8 "
       "plan.recompute=selective plan.router_balance=natural"},
      {"deepseek-v3", "dgx-h100", "megatron-core-2026",
       "plan.nodes=32 plan.tp=2 plan.pp=4 plan.ep=32 plan.gbs=1024 plan.seq_len=4096 plan.zero=1 "
       "plan.dispatcher=deepep plan.recompute=full"},
      {"qwen3-30b-a3b", "nvidia-dgx-b200", "megatron-core-2026",
       "plan.nodes=4 plan.ep=16 plan.gbs=128 plan.seq_len=4096 plan.zero=1 "
       "plan.dispatcher=alltoall plan.precision=fp8 plan.recompute=selective"},
      {"gpt-oss-20b", "nvidia-dgx-h100", "nemo-26.04",
       "plan.nodes=4 plan.ep=8 plan.gbs=128 plan.seq_len=4096"},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025",
       "plan.nodes=4 plan.gbs=128 plan.seq_len=8192 plan.zero=3"},
      {"bloom-176b", "jean-zay-a100", "megatron-deepspeed-2022",
       "plan.nodes=48 plan.tp=4 plan.pp=12 plan.gbs=2048 plan.mbs=2 plan.zero=1 "
       "plan.recompute=full model.head_dim=124"},
      {"llama-3-70b", "amd-mi300x", "primus-2025",
       "plan.nodes=1 plan.gbs=32 plan.seq_len=8192 plan.zero=3"},
      {"gpt2-2.5b", "dgx-a100-40gb", "deepspeed-megatron-2020",
       "plan.nodes=1 plan.gbs=64 plan.zero=3 plan.offload=optimizer+params"},
      // Adapters beside frozen matrices.
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.seq_len=128 plan.tuning=lora"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.tuning=lora plan.base_precision=fp8"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.tuning=lora plan.base_precision=int8"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.tuning=lora plan.base_precision=nf4"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.tuning=lora plan.base_precision=nf4-double"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.tuning=lora plan.base_precision=gptq-int4"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.tuning=lora plan.base_precision=nvfp4"},
      {"gpt-30b", "fugaku", "megatron-a64fx-2022",
       "plan.nodes=1024 plan.tp=4 plan.pp=8 plan.gbs=1024 device.clock_ghz=2.2"},
      // Mixers that are no plain attention.
      {"llama-3-8b", "nvidia-dgx-h100", "nemo-26.04",
       "plan.nodes=1 plan.gbs=64 plan.seq_len=4096 plan.zero=3 model.short_conv_kernel_dim=3 "
       "model.layer_types=[\"conv\",\"full_attention\"]"},
      {"nemotron-3.5-lightning", "nvidia-dgx-h100", "nemo-26.04",
       "plan.nodes=2 plan.ep=8 plan.gbs=64 plan.seq_len=8192"},
      {"nemotron-3-super-120b-a12b", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=16 plan.ep=64 plan.gbs=64 plan.seq_len=8192 model.moe_latent_norm=true"},
      {"qwen3.5-35b-a3b", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=2 plan.ep=8 plan.gbs=64 plan.seq_len=4096"},
      {"glm-5.2", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=48 plan.pp=6 plan.ep=32 plan.gbs=1024 plan.seq_len=4096 plan.attention=flash"},
      {"llama-3-8b", "l40s-node", "peft-2026",
       "plan.dp=1 plan.mbs=1 plan.gbs=1 plan.seq_len=512 plan.tuning=lora"},
      {"kimi-k3", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=256 plan.ep=64 plan.gbs=1024 plan.seq_len=4096"},
      {"deepseek-v4-flash", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=16 plan.ep=64 plan.gbs=64 plan.seq_len=8192"},
      {"minimax-text-01", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=16 plan.ep=32 plan.gbs=64 plan.seq_len=8192"},
      {"jamba-v0.1", "nvidia-dgx-h100", "nemo-26.04",
       "plan.nodes=4 plan.ep=16 plan.gbs=64 plan.seq_len=8192"},
      {"falcon-h1-34b", "nvidia-dgx-h100", "nemo-26.04",
       "plan.nodes=4 plan.tp=2 plan.gbs=64 plan.seq_len=8192"},
      {"gemma-4-26b-a4b", "nvidia-dgx-h100", "nemo-26.04",
       "plan.nodes=4 plan.ep=16 plan.gbs=64 plan.seq_len=8192 model.swa_num_attention_heads=32"},
      {"mimo-v2-flash", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=16 plan.ep=64 plan.gbs=64 plan.seq_len=8192"},
      {"longcat-flash", "nvidia-dgx-gb200", "nemo-26.04",
       "plan.nodes=16 plan.ep=64 plan.gbs=64 plan.seq_len=4096"},
      {"llama-3-8b", "gb300-nvl72", "megatron-core-2026",
       "plan.nodes=2 plan.tp=2 plan.gbs=64 plan.seq_len=8192"},
      // Kernels.
      {"llama-3-8b", "nvidia-dgx-b200", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp4 plan.seq_len=128 model.intermediate_size=131072 "
       "device.memory_bound.quantize_nvfp4=" STREAM " device.gemm_formats.fp4=" GEMM},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=block "
       "plan.seq_len=128 model.intermediate_size=131072 "
       "device.memory_bound.quantize_block=" STREAM " device.gemm_formats.fp8-block=" GEMM},
      {"llama-3-8b", "nvidia-dgx-b200", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=mxfp8 "
       "plan.seq_len=128 model.intermediate_size=131072 "
       "device.memory_bound.quantize_mxfp8=" STREAM " device.gemm_formats.mxfp8=" GEMM},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=current "
       "plan.seq_len=128 model.intermediate_size=131072 "
       "device.memory_bound.quantize_current=" STREAM " device.gemm_formats.fp8=" GEMM},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=delayed"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.tp=8 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=current"},
      {"qwen3-30b-a3b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.ep=8 plan.gbs=32 plan.recompute=selective plan.recompute_modules=moe_act "
       "plan.fp8_activation_store=true"},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=rowwise "
       "plan.seq_len=128 model.intermediate_size=131072 device.peaks_tflops.fp8-row=1979 "
       "device.memory_bound.quantize_row=" STREAM " device.gemm_formats.fp8-row=" GEMM},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp8 plan.fp8_recipe=current"},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025",
       "plan.nodes=1 plan.gbs=8 plan.precision=tf32 plan.attention=unfused "
       "device.memory_bound.optimizer=" STREAM " device.gemm_formats.tf32=" GEMM},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025",
       "plan.nodes=1 plan.gbs=8 plan.precision=fp32 plan.attention=unfused "
       "device.memory_bound.cross_entropy=" STREAM " device.gemm_formats.fp32=" GEMM},
      {"gpt-18b", "selene", "megatron-lm-2021",
       "plan.nodes=2 plan.tp=8 plan.pp=2 plan.gbs=32 plan.precision=fp16 "
       "model.head_dim=124 plan.attention=unfused "
       "software.kernels.format_time_factors={\"fp16\":1.1} "
       "device.memory_bound.softmax=" STREAM " device.gemm_formats.fp16=" HALF_GEMM},
      {"gpt-18b", "selene", "megatron-core-2026",
       "plan.nodes=2 plan.tp=8 plan.pp=2 plan.gbs=32 plan.precision=bf16 "
       "model.head_dim=124 plan.attention=fused-softmax device.memory_bound.fused_pointwise=" STREAM
       " device.memory_bound.embedding=" STREAM " device.gemm_formats.bf16=" HALF_GEMM},
      {"qwen3-30b-a3b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.ep=8 plan.gbs=32 plan.dispatcher=alltoall "
       "software.kernels.grouped_products=false plan.cuda_graphs=attn+moe_router "
       "device.memory_bound.permute=" STREAM " device.memory_bound.router=" STREAM},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.cp=8 plan.cp_comm=a2a plan.gbs=8 plan.seq_len=1024 "
       "software.host.launch_s=1e-4"},
      {"qwen3-30b-a3b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.ep=8 plan.gbs=32 plan.router_balance=dropped:1"},
      // Experts beside another micro batch.
      {"qwen3-30b-a3b", "nvidia-dgx-b200", "megatron-core-2026",
       "plan.nodes=4 plan.pp=2 plan.vpp=2 plan.ep=16 plan.gbs=128 plan.dispatcher=deepep "
       "plan.overlap=ep software.communication.beside=[0.5,0.6]"},
      {"qwen3-30b-a3b", "nvidia-dgx-b200", "megatron-core-2026",
       "plan.nodes=4 plan.pp=2 plan.vpp=2 plan.ep=16 plan.gbs=128 plan.dispatcher=deepep "
       "plan.overlap=ep plan.cuda_graphs=full plan.router_balance=forced "
       "software.communication.beside=[0.3,0.5]"},
      {"qwen3-30b-a3b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.ep=32 plan.gbs=128 plan.dispatcher=hybridep "
       "cluster.dispatch.hybridep=" DISPATCHER},
      {"qwen3-30b-a3b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.ep=32 plan.gbs=128 plan.dispatcher=deepep "
       "cluster.dispatch.deepep=" DISPATCHER},
      {"qwen3-30b-a3b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.ep=32 plan.gbs=128 plan.dispatcher=alltoall "
       "cluster.dispatch.alltoall=" DISPATCHER},
      {"qwen3-30b-a3b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.ep=32 plan.gbs=128 plan.dispatcher=allgather "
       "cluster.dispatch.allgather=" DISPATCHER},
      {"qwen3-30b-a3b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.ep=32 plan.gbs=128 plan.dispatcher=uccl "
       "cluster.dispatch.uccl=" DISPATCHER},
      // Collectives and fabrics.
      {"llama-3-8b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.tp=8 plan.gbs=8 plan.sequence_parallel=false "
       "cluster.node.collectives=" COLLECTIVES("2")},
      {"llama-3-8b", "dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.tp=8 plan.gbs=8 plan.sequence_parallel=false "
       "cluster.node.collectives=" COLLECTIVES("8")},
      {"llama-3-8b", "gb200-nvl72", "megatron-core-2026",
       "plan.nodes=4 plan.gbs=16 plan.zero=0 cluster.domain.collectives=" COLLECTIVES("2")},
      {"llama-3-8b", "gb200-nvl72", "megatron-core-2026",
       "plan.nodes=4 plan.gbs=16 plan.zero=0 cluster.domain.collectives=" COLLECTIVES("8")},
      {"llama-3-8b", "gb200-nvl72", "megatron-core-2026",
       "plan.nodes=4 plan.gbs=16 plan.zero=1 cluster.domain.collectives=" COLLECTIVES("2")},
      {"gpt-18b", "dgx-a100", "megatron-core-2026",
       "plan.nodes=64 plan.tp=8 plan.pp=2 plan.gbs=128 cluster.fabric.network=" FAT_TREE},
      {"gpt-18b", "dgx-a100", "megatron-core-2026",
       "plan.nodes=64 plan.tp=8 plan.pp=2 plan.gbs=128 cluster.fabric.network=" DRAGONFLY},
      {"gpt-18b", "dgx-a100", "megatron-core-2026",
       "plan.nodes=2 plan.tp=8 plan.gbs=128 cluster.fabric.network=" EDGES},
      // Sharded layers, contexts, hosts.
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025",
       "plan.nodes=4 plan.pp=2 plan.gbs=128 plan.zero=3"},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtitan-2025", "plan.nodes=4 plan.gbs=128 plan.zero=2"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2024",
       "plan.nodes=4 plan.tp=8 plan.gbs=128 plan.sequence_parallel=true"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=1 plan.cp=8 plan.gbs=8 plan.seq_len=32768 plan.cp_comm=p2p"},
      {"llama-3-70b", "nvidia-dgx-h100", "nanotron-2025",
       "plan.nodes=4 plan.tp=16 plan.pp=2 plan.gbs=128"},
      // Gradients that are freed, updates that copy, kernels that keep copies, logits that wait.
      {"llama-3-8b", "nvidia-dgx-h100", "hf-trainer-fsdp-2025",
       "plan.nodes=1 plan.gbs=8 plan.seq_len=2048"},
      {"llama-3-8b", "nvidia-dgx-h100", "torchtune-2024",
       "plan.nodes=1 plan.gbs=8 plan.zero=3 plan.recompute=none plan.seq_len=8192"},
      {"gpt2-345m", "dgx-a100", "megatron-core-2024",
       "plan.nodes=1 plan.gbs=64 plan.pp=4 plan.schedule=gpipe plan.loss=compiled"},
      {"bloom-176b", "jean-zay-a100", "megatron-deepspeed-bf16-2022",
       "plan.nodes=48 plan.tp=4 plan.pp=12 plan.gbs=2048 plan.mbs=2 plan.recompute=full "
       "plan.precision=bf16 cluster.host.memory=1GB"},
      {"gpt2-2.5b", "dgx-a100-40gb", "deepspeed-megatron-2020",
       "plan.nodes=1 plan.gbs=64 plan.zero=3 plan.offload=optimizer+params "
       "cluster.host.memory=1GB"},
      {"llama-3-8b", "nvidia-dgx-h100", "megatron-core-2026",
       "plan.nodes=4 plan.tp=2 plan.gbs=64 "
       R"(software.calibration={"time_noise":0.05,"spreads":{"gemm":0.1,"network":0.1},)"
       R"("correlations":[{"first":"gemm","second":"network","value":0.3}]})"},
  };
  return all;
}

std::vector<Override> settings_of(const StatedBase& base) {
  std::vector<Override> settings;
  std::istringstream words(base.settings);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    settings.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return settings;
}

struct JobAnswer {
  std::string refusal;
  std::set<std::string> warnings;
  std::vector<double> numbers;  ///< seconds, bytes and FLOPs
};

/// Returns what is told of the job; nothing where a file cannot hold the settings.
std::optional<JobAnswer> stated_answer(const StatedBase& base, const std::vector<Override>& more,
                                       bool how_sure) {
  static const Library library = shipped_library();
  static const Uncertainty uncertainty = read_uncertainty(library.open("uncertainty", "priors"));
  JobRequest request;
  request.model = base.model;
  request.cluster = base.cluster;
  if (base.software) request.software = base.software;
  request.overrides = settings_of(base);
  request.overrides.insert(request.overrides.end(), more.begin(), more.end());
  std::optional<Job> job;
  try {
    job = read_job(library, request);
  } catch (const InputError& error) {
    if (!more.empty()) return std::nullopt;
    return JobAnswer{error.what(), {}, {}};
  }
  JobAnswer result;
  try {
    ResolvedScenario resolved = resolve(*job);
    resolved.scenario.edited.clear();  // that something was set is no effect of what
    const Prediction prediction = predict(resolved.scenario);
    result.warnings.insert(resolved.warnings.begin(), resolved.warnings.end());
    result.warnings.insert(prediction.warnings.begin(), prediction.warnings.end());
    result.numbers = {prediction.sec_per_iter.value, prediction.flops.hardware.value,
                      prediction.flops.model.value, prediction.peak.value,
                      prediction.peak_memory.value};
    for (const StagePrediction& stage : prediction.stages) {
      result.numbers.push_back(stage.memory.needed().value);
      result.numbers.push_back(stage.memory.total().value);
      result.numbers.push_back(stage.time.total() - stage.time.bubble);
    }
    if (how_sure) {
      const Interval sure = interval(resolved.scenario, prediction, uncertainty);
      result.numbers.insert(result.numbers.end(),
                            {prediction.relative_error, sure.time_low.value, sure.time_high.value,
                             sure.memory_low.value, sure.memory_high.value});
      result.warnings.insert(prediction.error_basis);
      for (const StagePrediction& stage : prediction.stages) {
        for (const ExplainedKernel& kernel : explained(resolved.scenario, stage.parts)) {
          result.numbers.push_back(kernel.price.relative_error);
        }
      }
    }
  } catch (const InputError& error) {
    result.refusal = error.what();
  }
  return result;
}

/// Keys of a schema that hold values, and the words that they may have.
using Leaves = std::map<Path, std::set<std::string>>;

class Schema {
 public:
  explicit Schema(const std::string& kind) : file_(open(kind)) {}

  [[nodiscard]] Leaves leaves() const {
    Leaves found;
    walk({{&file_, &file_}}, {}, found);
    return found;
  }

 private:
  struct Node {
    const Json* file;
    const Json* value;
  };

  static Json open(const std::string& kind) {
    return Json::parse(std::ifstream(PREQUEL_DATA_DIR "/schema/" + kind + "-1.json"));
  }

  /// Another file of schemas, kept as long as this one.
  [[nodiscard]] const Json& file_of(const std::string& name) const {
    const auto known = others_.find(name);
    if (known != others_.end()) return known->second;
    return others_.emplace(name, open(name.substr(0, name.find("-1.json")))).first->second;
  }

  /// All that speaks of the same value: references, alternatives, conditions.
  void gather(const Json& file, const Json& value, std::vector<Node>& nodes) const {
    nodes.push_back({&file, &value});
    if (const auto ref = value.find("$ref"); ref != value.end()) {
      const auto text = ref->get<std::string>();
      const std::size_t hash = text.find('#');
      const Json& target = hash == 0 ? file : file_of(text.substr(0, hash));
      gather(target, target.at(Json::json_pointer(text.substr(hash + 1))), nodes);
    }
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      if (!value.contains(key)) continue;
      for (const Json& each : value[key]) gather(file, each, nodes);
    }
    for (const char* key : {"then", "else"}) {
      if (value.contains(key)) gather(file, value[key], nodes);
    }
  }

  void walk(const std::vector<Node>& alternatives, const Path& path, Leaves& found) const {
    std::vector<Node> nodes;
    for (const Node& each : alternatives) gather(*each.file, *each.value, nodes);
    std::map<std::string, std::vector<Node>> members;
    std::set<std::string> words;
    for (const Node& node : nodes) {
      if (node.value->contains("properties")) {
        for (const auto& [name, member] : node.value->at("properties").items()) {
          members[name].push_back({node.file, &member});
        }
      }
      for (const char* key : {"items", "additionalProperties", "unevaluatedProperties"}) {
        if (node.value->contains(key) && node.value->at(key).is_object()) {
          members["*"].push_back({node.file, &node.value->at(key)});
        }
      }
      if (node.value->contains("const")) add_word(node.value->at("const"), words);
      for (const Json& word : node.value->value("enum", Json::array())) add_word(word, words);
    }
    for (const char* said : {"origin", "note", "schema", "$schema"}) members.erase(said);
    const bool number = members.erase("sd") > 0;
    if (number) members.erase("value");
    if (members.empty() || number) found[path].insert(words.begin(), words.end());
    for (const auto& [name, below] : members) {
      const bool barred = std::ranges::any_of(below, [](const Node& each) {
        return each.value->contains("type") && each.value->at("type") == "null";
      });
      if (barred) continue;
      Path longer = path;
      longer.push_back(name);
      walk(below, longer, found);
    }
  }

  static void add_word(const Json& word, std::set<std::string>& words) {
    if (word.is_string()) words.insert(word.get<std::string>());
  }

  Json file_;
  mutable std::map<std::string, Json> others_;
};

/// Where a document holds what `path` says, or could: the last key need not be there.
std::vector<Path> places(const Json& document, const Path& path) {
  std::vector<std::pair<Path, const Json*>> at{{{}, &document}};
  for (std::size_t i = 0; i < path.size(); ++i) {
    std::vector<std::pair<Path, const Json*>> next;
    for (const auto& [prefix, value] : at) {
      if (!value) continue;
      const auto step = [&](const std::string& key, const Json* member) {
        Path longer = prefix;
        longer.push_back(key);
        next.emplace_back(std::move(longer), member);
      };
      const bool last = i + 1 == path.size();
      if (path[i] != "*") {
        if (!value->is_object()) continue;
        const auto found = value->find(path[i]);
        if (found != value->end()) {
          step(path[i], &*found);
        } else if (last || (i + 2 == path.size() && path[i + 1] == "*")) {
          step(path[i], nullptr);
        }
      } else if (value->is_array()) {
        for (std::size_t k = 0; k < value->size(); ++k) step(std::to_string(k), &(*value)[k]);
      } else if (value->is_object()) {
        for (const auto& [name, member] : value->items()) {
          if (name != "origin" && name != "note") step(name, &member);
        }
      }
    }
    // A list that is not there is named whole.
    if (i + 1 == path.size() && path[i] == "*") {
      for (const auto& [prefix, value] : at) {
        if (!value) next.emplace_back(prefix, nullptr);
      }
    }
    at = std::move(next);
  }
  std::vector<Path> found;
  for (auto& [place, value] : at) found.push_back(place);
  return found;
}

Json value_at(const Json& document, const Path& place) {
  const Json* value = &document;
  for (const std::string& key : place) {
    if (value->is_array()) {
      value = &(*value)[std::stoul(key)];
    } else if (value->contains(key)) {
      value = &(*value)[key];
    } else {
      return nullptr;
    }
  }
  return value->is_object() && value->contains("value") ? (*value)["value"] : *value;
}

/// Other values than `value`, some of which the file may hold.
std::vector<std::string> others(const Json& value, const std::set<std::string>& words) {
  std::vector<std::string> found;
  if (value.is_boolean()) return {value.get<bool>() ? "false" : "true"};
  for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
    for (const std::string& other : others(value[i], words)) {
      Json list = value;
      list[i] = Json::parse(other);
      found.push_back(list.dump());
    }
  }
  if (value.is_number_integer()) {
    const auto whole = value.get<std::int64_t>();
    for (const std::int64_t other : {whole * 2, whole / 2, whole + 1, whole - 1}) {
      if (other != whole) found.push_back(std::to_string(other));
    }
  }
  if (value.is_number()) {
    const auto number = value.get<double>();
    for (const double other : {number * 1.3, number * 0.7, number * 4, number + 0.5, 0.0, 1.0}) {
      if (other != number) found.push_back(Json(other).dump());
    }
    return found;
  }
  for (const std::string& word : words) {
    if (value != word) found.push_back(Json(word).dump());
  }
  if (value.is_string() && words.empty()) {
    const auto text = value.get<std::string>();
    const std::size_t end = text.find_first_not_of("0123456789.");
    if (end > 0 && end != std::string::npos) {
      const double number = std::stod(text.substr(0, end));
      for (const double factor : {1.3, 0.7, 4.0, 0.05}) {
        found.push_back(Json(fmt::format("{}{}", number * factor, text.substr(end))).dump());
      }
    }
    for (const char* name : {"a", "b", "c", "a100-sxm-80gb", "megatron-core-2024", "another"}) {
      if (text != name) found.push_back(Json(name).dump());
    }
  }
  if (value.is_null()) {
    for (const char* other : {"true",
                              "false",
                              "0",
                              "1",
                              "2",
                              "3",
                              "4",
                              "64",
                              "1024",
                              "0.1",
                              "0.5",
                              "1.5",
                              "1e-3",
                              "1e6",
                              "\"8 GB\"",
                              "\"2 GB/s\"",
                              "\"a100-sxm-80gb\"",
                              "[1]",
                              "[2, 2]",
                              "[64, 64]",
                              "[1e-6, 1e-5]"}) {
      found.emplace_back(other);
    }
  }
  if (value.is_array()) found.emplace_back("[]");
  return found;
}

/// The files of a job, by kind.
std::map<std::string, Json> files_of(const StatedBase& base) {
  const Library library = shipped_library();
  const Cluster cluster = shipped_cluster(base.cluster);
  std::map<std::string, Document> documents;
  documents.emplace("model", library.open("models", base.model));
  documents.emplace("cluster", library.open("clusters", base.cluster));
  documents.emplace("device", library.open("devices", cluster.device));
  documents.emplace("software",
                    library.open("software", base.software ? base.software : cluster.software));
  std::map<std::string, Json> files;
  for (auto& [kind, document] : documents) {
    apply_overrides(document, settings_of(base), kind);
    files[kind] = document.json();
  }
  return files;
}

/// A job, its files, and what is told of it as they are.
class Case {
 public:
  explicit Case(const StatedBase& base) : base_(&base), files_(files_of(base)) {
    plain_ = stated_answer(base, {}, false).value();
    REQUIRE_MESSAGE(plain_.refusal == "", base.settings);
  }

  /// Tests whether its settings speak of the key.
  [[nodiscard]] bool names(const std::string& kind, const Path& path) const {
    const std::size_t depth = std::min<std::size_t>(2, path.size());
    const std::string key =
        fmt::format("{}.{}", kind, fmt::join(path.begin(), path.begin() + depth, "."));
    return std::string_view(base_->settings).find(key) != std::string_view::npos;
  }

  /// Tests whether some other value of the key is told of; of the first that may stand there alone,
  /// where `briefly`.
  bool tells(const std::string& kind, const Path& path, const std::set<std::string>& words,
             bool how_sure, bool briefly) {
    for (const Path& place : places(files_.at(kind), path)) {
      const std::string key = fmt::format("{}.{}", kind, fmt::join(place, "."));
      for (const std::string& other : others(value_at(files_.at(kind), place), words)) {
        const auto after = stated_answer(*base_, {{key, other}}, how_sure);
        if (!after && words.empty()) continue;
        // A word may be one that other keys of the file forbid.
        if (!after || differs(*after, how_sure ? sure() : plain_)) return true;
        if (briefly) return false;
      }
    }
    return false;
  }

 private:
  const JobAnswer& sure() {
    if (!sure_) sure_ = stated_answer(*base_, {}, true);
    return *sure_;
  }

  static bool differs(const JobAnswer& after, const JobAnswer& before) {
    if (!after.refusal.empty() || after.numbers != before.numbers) return true;
    return std::ranges::any_of(after.warnings, [&](const std::string& warning) {
      return !before.warnings.contains(warning);
    });
  }

  const StatedBase* base_;
  std::map<std::string, Json> files_;
  JobAnswer plain_;
  std::optional<JobAnswer> sure_;
};

/// Keys that say something else than what a prediction tells, or what other keys may stand there;
/// those that begin with one of these.
struct Elsewhere {
  const char* key;
  const char* why;
};

constexpr Elsewhere kElsewhere[]{
    {"model.name", "a name"},
    {"cluster.like", "a file that was read before"},
    {"device.like", "a file that was read before"},
    {"software.like", "a file that was read before"},
    {"cluster.reliability", "what fails at a site: predict with a reservation"},
    {"cluster.storage", "how a site saves: predict with a reservation"},
    {"cluster.facility", "what a building adds to power: predict with a reservation"},
    {"cluster.builds", "how a site's tables of runs name releases: validate"},
    {"cluster.expert_software", "the stack of experts, where a job names none: read_job"},
    {"cluster.changes", "a site's history, by the date of a run: validate"},
    {"cluster.fabric.network.switches", "names, which edges and attachments call"},
    {"device.power", "energy of a whole training: search --tokens"},
    {"device.attention.kernels.*.measured_as", "names in tables of measurements: calibrate"},
    {"device.attention.kernels.*.window.fp8_factor",
     "8-bit attention, which no plan has: calibrate"},
    {"device.memory_bound.residual_add", "a kernel that stacks fuse: calibrate"},
    {"device.memory_bound.layer_norm", "a kernel that stacks fuse: calibrate"},
    {"device.memory_bound.rms_norm", "a kernel that stacks fuse: calibrate"},
    {"device.memory_bound.gelu", "a kernel that stacks fuse: calibrate"},
    {"device.memory_bound.swiglu", "a kernel that stacks fuse: calibrate"},
    {"device.memory_bound.rope", "a kernel that stacks fuse: calibrate"},
    {"device.memory_bound.copy", "a kernel that no layer has: calibrate"},
    {"device.memory_bound.quantize_absmax", "a cast of libraries of inference: calibrate"},
    {"device.memory_bound.convolution.cached", "a cache that no table of these kernels tells of"},
    {"device.memory_bound.streams_in.cached", "a cache that no table of these kernels tells of"},
    {"device.memory_bound.streams_out.cached", "a cache that no table of these kernels tells of"},
    {"model.layers_pattern",
     "letters for what these models list as types of layers: hybrids' tests"},
    {"model.other_parameters", "parameters beside the decoder, which are counted: show"},
    {"device.memory_bound.*.rows", "rows of a kernel that was measured alone: calibrate"},
    {"software.choices.cuda_graphs", "what a search tries"},
    {"software.choices.overlap", "what a search tries"},
    {"software.choices.recompute_modules", "what a search tries"},
    {"software.chosen_on", "on which runs constants were chosen: show constants"},
    {"software.kernels.dequantise_rates",
     "of frozen matrices in that format: tests of fine-tuning"},
    {"software.memory.prints", "what a run's memory is compared with: validate"},
};

bool begins_with(const std::string& key, const std::string& pattern) {
  const std::size_t star = pattern.find(".*.");
  if (star == std::string::npos || key.starts_with(pattern)) return key.starts_with(pattern);
  const std::size_t end = key.find('.', star + 1);
  return key.starts_with(pattern.substr(0, star + 1)) && end != std::string::npos &&
         key.substr(end + 1).starts_with(pattern.substr(star + 3));
}

TEST_CASE("every key of a model, cluster, device or stack is told of") {
  std::vector<Case> cases(stated_bases().begin(), stated_bases().end());
  std::set<std::string> used;
  for (const std::string kind : {"model", "cluster", "device", "software"}) {
    for (const auto& [path, words] : Schema(kind).leaves()) {
      const std::string key = fmt::format("{}.{}", kind, fmt::join(path, "."));
      CAPTURE(key);
      const auto* elsewhere = std::ranges::find_if(
          kElsewhere, [&](const Elsewhere& each) { return begins_with(key, each.key); });
      const bool is_elsewhere = elsewhere != std::end(kElsewhere);
      const auto is_told = [&, &path = path, &words = words](bool how_sure) {
        for (const bool first : {true, false}) {
          for (Case& job : cases) {
            if (job.names(kind, path) != first) continue;
            if (job.tells(kind, path, words, how_sure, is_elsewhere)) return true;
          }
        }
        return false;
      };
      if (is_elsewhere) {
        used.insert(elsewhere->key);
        CHECK_FALSE(is_told(false));
      } else {
        CHECK((is_told(false) || is_told(true)));
      }
    }
  }
  for (const Elsewhere& each : kElsewhere) {
    CAPTURE(std::string(each.key));
    CHECK(used.contains(each.key));
  }
}

}  // namespace
}  // namespace prequel
