#include <doctest/doctest.h>

#include "cli/import/logs/training_log.hpp"
#include "hw/base/units.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

TrainingLog log_of(const std::string& text) {
  TrainingLogReader reader;
  reader.take(text);
  return reader.finish();
}

/// The times of the only batch size of a log.
BatchTimes times_of(const std::string& text) {
  const TrainingLog log = log_of(text);
  REQUIRE(log.sections.size() == 1);
  REQUIRE(log.sections[0].batches.size() == 1);
  CHECK(log.broken_lines == 0);
  return log.sections[0].batches[0];
}

std::string log_lines(const std::string& before, const std::string& behind, int count = 20) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += before + std::to_string(i) + behind + "\n";
  return text;
}

TEST_CASE("lines of NeMo give seconds and the batch size, as text and as a bar") {
  const BatchTimes text = times_of(log_lines(
      "Training epoch 0, iteration ",
      "/999 | lr: 1e-05 | global_batch_size: 512 | global_step: 9 | reduced_train_loss: 9.1 "
      "| train_step_timing in s: 46.84"));
  CHECK(text.seconds.at(0.5) == doctest::Approx(46.84));
  CHECK(text.global_batch == 512);
  const BatchTimes bar =
      times_of(log_lines("Epoch 0: :   3%|1         | 5/175 [01:03<33:01, v_num=0, global_step=",
                         ".000, consumed_samples=1536.0, train_step_timing in s=5.600]"));
  CHECK(bar.seconds.at(0.5) == doctest::Approx(5.6));
}

TEST_CASE("lines of Primus give the iteration's time, not the average beside it") {
  const BatchTimes times = times_of(
      log_lines(" iteration ",
                "/   50 | elapsed time per iteration (ms): 1460.8/1450.4 | throughput per GPU "
                "(TFLOP/s/GPU): 401.2/399.0 | global batch size:   128 |"));
  CHECK(times.seconds.at(0.5) == doctest::Approx(1.4608));
  CHECK(times.tflops.at(0.5) == doctest::Approx(401.2));
}

TEST_CASE("lines of Megatron-Bridge count where no iterations are logged") {
  const std::string bridge = "Step Time : 12.30s GPU utilization: 456.7MODEL_TFLOP/s/GPU\n";
  CHECK(times_of(bridge + bridge + bridge).seconds.at(0.5) == doctest::Approx(12.3));
  const BatchTimes both = times_of(
      log_lines(bridge + " iteration ",
                "/ 50 | elapsed time per iteration (ms): 12310.0 | global batch size: 128 |"));
  CHECK(both.seconds.at(0.5) == doctest::Approx(12.31));
}

TEST_CASE("lines of nanotron have units for people") {
  const BatchTimes times = times_of(
      log_lines("05/20/2025 10:00:00 [INFO|DP=0|PP=0|TP=0]: iteration: ",
                " / 320K | consumed_tokens: 1.05M | elapsed_time_per_iteration_ms: 3.42K | "
                "tokens_per_sec: 307K | tokens_per_sec_per_gpu: 38.3K | global_batch_size: 512 | "
                "lm_loss: 11 | model_tflops_per_gpu: 381 | hardware_tflops_per_gpu: 381"));
  CHECK(times.seconds.at(0.5) == doctest::Approx(3.42));
  CHECK(times.global_batch == 512);
  CHECK(times.tflops.at(0.5) == doctest::Approx(381));
}

TEST_CASE("lines of GPT-NeoX give the batch size by its rate, and its dump the values alone") {
  const BatchTimes times = times_of(log_lines(
      " samples/sec: 7.799 | iteration ",
      "/  320000 | elapsed time per iteration (ms): 131298.5 | learning rate: 6.000E-06 |"));
  CHECK(times.seconds.at(0.5) == doctest::Approx(131.2985));
  CHECK(times.global_batch == 1024);
  const auto argument = parse_argument("  num_layers ...................... 44............updated");
  REQUIRE(argument);
  CHECK(argument->first == "num_layers");
  CHECK(argument->second == "44");
  const auto argument_line = [](const std::string& name, const std::string& what) {
    return "  " + name + " ...... " + what + "........updated\n";
  };
  const std::string dump =
      "---- arguments ----\n" + argument_line("num_layers", "44") +
      argument_line("hidden_size", "6144") + argument_line("num_attention_heads", "64") +
      argument_line("seq_length", "2048") + argument_line("pipe_parallel_size", "4") +
      argument_line("zero_optimization", "{'stage': 1}") + "---- end of arguments ----\n";
  const TemporaryFolder folder;
  const Import import = import_files({folder.with(
      "neox.log", dump + log_lines(" samples/sec: 7.799 | iteration ",
                                   "/ 320000 | elapsed time per iteration (ms): 131298 |"))});
  REQUIRE(import.runs.size() == 1);
  CHECK(import.runs[0].job.plan.pp == 4);
  CHECK(import.runs[0].job.says("deepspeed"));
}

TEST_CASE("lines of torchtitan are rates of one device's tokens, whatever colour they have") {
  const std::string text =
      log_lines("0: [rank0]:[titan] 2025-05-20 10:00:00,000 - root - INFO - \x1b[31mstep: ",
                "  \x1b[32mloss:  4.1  \x1b[33mmemory: 36.64GiB(46.25%)  \x1b[34mtps: 6,785  "
                "\x1b[36mtflops: 392.30  \x1b[35mmfu: 39.73%\x1b[39m");
  const BatchTimes times = times_of(text);
  CHECK(times.unit == TimedUnit::device_token);
  CHECK(1 / times.seconds.at(0.5) == doctest::Approx(6785));
  CHECK(*log_of(text).sections[0].reserved_bytes / kGiB == doctest::Approx(36.64));
  const TemporaryFolder folder;
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  const Import import =
      import_files({PREQUEL_FIXTURES "/llama-2-7b-config.json", folder.with("titan.log", text)},
                   {"dgx-h100", {}, &library, {{"plan.nodes", "4"}, {"plan.gbs", "64"}}});
  REQUIRE(import.runs.size() == 1);
  CHECK(*import.runs[0].sec_per_iter == doctest::Approx(64.0 * 4096 / 32 / 6785));
  CHECK(import.runs[0].job.software == "torchtitan-2025");
  CHECK(runs_csv(import.runs).find(",torchtitan,torchtitan-2025,") != std::string::npos);
}

TEST_CASE("the bar of Hugging Face's Trainer, what it says at its end, and nanoGPT's lines") {
  std::string bar = "  0%|          | 0/1000 [00:00<?, ?it/s]";
  for (int i = 1; i <= 30; ++i) {
    bar += "\r  3%|#         | " + std::to_string(i) + "/1000 [01:12<39:02,  2.41s/it]";
  }
  const std::string others = "Map: 100%|######| 5/5 [00:01<00:00, 9.1it/s]\n{'loss': 2.1}\n";
  CHECK(times_of(others + bar).seconds.at(0.5) == doctest::Approx(2.41));
  const BatchTimes end = times_of(
      "{'loss': 2.1, 'epoch': 0.1}\n{'train_runtime': 5120.0, 'train_samples_per_second': 15.6, "
      "'train_steps_per_second': 0.061, 'epoch': 1.0}\n");
  CHECK(end.seconds.at(0.5) == doctest::Approx(1 / 0.061));
  CHECK(times_of(log_lines("iter ", ": loss 3.2, time 561.23ms, mfu 45.10%")).seconds.at(0.5) ==
        doctest::Approx(0.56123));
}

TEST_CASE("an excerpt of a run under way has no warm-up, a run's first iterations are one") {
  const std::string line =
      "/ 50000 | elapsed time per iteration (s): 105.22 | global batch size: 2048 |";
  CHECK(times_of("iteration 12695" + line).seconds.seen() == 1);
  const BatchTimes two = times_of("iteration 12695" + line + "\niteration 12696" + line);
  CHECK(two.seconds.seen() == 2);
  CHECK(two.left_out == 0);
  CHECK(times_of(log_lines("iteration ", line, 12)).seconds.seen() == 2);
  const std::string dump = "---- arguments ----\n  bf16 ...... True\n---- end of arguments ----\n";
  const BatchTimes resumed = times_of(dump + "iteration 500" + line + "\niteration 510" + line);
  CHECK(resumed.left_out == 1);
}

}  // namespace
}  // namespace prequel
