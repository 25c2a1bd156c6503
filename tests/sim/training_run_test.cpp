#include "sim/run/training_run.hpp"
#include "models/layers/parameters.hpp"

#include <doctest/doctest.h>

#include "sim/answer/forward_only.hpp"
#include "tests/error_text.hpp"
#include "tests/scenarios.hpp"

namespace prequel {
namespace {

/// The shipped job of 48 nodes, gbs 2048, seq_len 2048.
struct AskedRun {
  Job job;
  Scenario scenario;
  Prediction prediction;

  explicit AskedRun(const Settings& settings = {})
      : job(shipped_job(settings)),
        scenario(resolve(job).scenario),
        prediction(predict(scenario)) {}
  [[nodiscard]] WholeRun answer(const RunQuestion& question) const {
    return whole_run(job, scenario, prediction, question);
  }
};

TEST_CASE("without ramp and failures, a run is its iterations") {
  const AskedRun asked;
  RunQuestion question;
  question.tokens = 100.5 * 2048 * 2048;
  const TrainingRun run = *asked.answer(question).run;
  CHECK(run.iterations == 101);
  CHECK(run.ramp_iterations == 0);
  CHECK(run.training.value == doctest::Approx(101 * asked.prediction.sec_per_iter.value));
  CHECK(run.expected == run.training);
  CHECK(run.gpu_hours == doctest::Approx(run.expected.value / 3600 * 384));
}

TEST_CASE("a ramp deals its samples out to the sizes below the last in equal parts") {
  const AskedRun asked;
  RunQuestion question;
  question.tokens = 2048.0 * (3 * 3072 + 2048);
  question.ramp = BatchRamp{512, 2048, 512};
  question.ramp_samples = 3 * 3072;
  const WholeRun whole = asked.answer(question);
  CHECK(whole.run->ramp_iterations == 3072 / 512 + 3072 / 1024 + 3072 / 1536);
  CHECK(whole.run->iterations == whole.run->ramp_iterations + 1);
  const auto step = [&](std::size_t i) {
    return whole.ramp->points[i].planned->sec_per_iter.value;
  };
  CHECK(whole.run->training.value ==
        doctest::Approx(6 * step(0) + 3 * step(1) + 2 * step(2) + step(3)));
}

TEST_CASE("a checkpoint holds 14 bytes a parameter where weights are fp16, 12 where fp32") {
  const Transformer model = shipped_model("bloom-176b");
  const double parameters = static_cast<double>(total_parameters(model));
  Plan plan;
  plan.precision = Precision::fp16;
  const auto size = [&](const char* software) {
    return checkpoint_size(model, plan, shipped_software(software)).value;
  };
  CHECK(size("megatron-deepspeed-2022") == 14 * parameters);
  CHECK(size("composer-2023") == 12 * parameters);
  plan.precision = Precision::fp32;
  CHECK(size("megatron-deepspeed-2022") == 12 * parameters);
  // The model's card: 2.3 TB with optimizer states.
  CHECK(14 * parameters / (1024.0 * kGiB) == doctest::Approx(2.3).epsilon(0.03));
}

TEST_CASE(
    "with slow nodes, iterations take what they take with those, and evaluations as much more") {
  const AskedRun asked;
  RunQuestion question;
  question.tokens = 2048.0 * (1000 * 2048 + 3072);
  question.ramp = BatchRamp{1024, 2048, 1024};
  question.ramp_samples = 3072;
  question.eval_interval = 300;
  question.eval_iters = 2;
  const TrainingRun usual = *asked.answer(question).run;
  CHECK(usual.sec_per_iter == asked.prediction.sec_per_iter);
  const double step = 1.5 * asked.prediction.sec_per_iter.value;
  const TrainingRun slow = *whole_run(asked.job, asked.scenario, asked.prediction, question,
                                      StepDistribution{step, step, step, step})
                                .run;
  CHECK(slow.sec_per_iter.value == step);
  CHECK(slow.iterations == usual.iterations);
  CHECK(slow.training.value == doctest::Approx(1.5 * usual.training.value));
  CHECK(slow.evaluation.value == doctest::Approx(1.5 * usual.evaluation.value));
}

TEST_CASE("a run that failures leave no time to train is refused with what would do") {
  const AskedRun asked;  // a checkpoint of 2.4 TB
  RunQuestion question;
  question.checkpoint_bandwidth = BytesPerSecond{40e9};
  const auto refusal = [&] { return error_text([&] { (void)asked.answer(question); }); };
  question.mtbf = Seconds{600};
  CHECK(refusal() == "no error");
  question.checkpoint_interval = Seconds{86400};
  CHECK(refusal() ==
        "checkpoint_interval: with 86400 s between checkpoints and a failure every 600 s, 100.0 "
        "% of the time is lost; 235 s would do");
  question.checkpoint_interval = {};
  question.restart = Seconds{1200};
  CHECK(refusal() ==
        "mtbf: a failure every 600 s leaves hardly any time to train, as a checkpoint takes 63 s "
        "to write and a restart 1263 s: 92.6 % are lost; mtbf 12635s would do");
  question.mtbf = Seconds{12635};
  CHECK(refusal() == "no error");
  question.restart = {};
  question.mtbf = Seconds{5};
  CHECK(refusal() ==
        "mtbf: a failure every 5.0 s leaves hardly any time to train, as a checkpoint takes 63 s "
        "to write and a restart 63 s: 100.0 % are lost; mtbf 635s or checkpoint_bandwidth "
        "10147GB/s would do");
  question.checkpoint_bandwidth = BytesPerSecond{10147e9};
  CHECK(refusal() == "no error");
}

TEST_CASE("the best interval loses less than the half or the double of it") {
  const AskedRun asked;
  RunQuestion question;
  question.checkpoint_bandwidth = BytesPerSecond{40e9};
  question.mtbf = Seconds{86400};
  const CheckpointPlan best = *asked.answer(question).checkpoints;
  CHECK(best.interval == best.daly);
  for (const double factor : {0.5, 2.0}) {
    question.checkpoint_interval = factor * *best.daly;
    CHECK(asked.answer(question).checkpoints->lost_share > best.lost_share);
  }
}

TEST_CASE("what failures cost makes the run longer by its share") {
  const AskedRun asked;
  RunQuestion question;
  question.tokens = 366e9;
  question.checkpoint_bandwidth = BytesPerSecond{40e9};
  question.mtbf = Seconds{86400};
  const WholeRun whole = asked.answer(question);
  CHECK(whole.run->expected.value * (1 - whole.checkpoints->lost_share) ==
        doctest::Approx(whole.run->training.value));
}

TEST_CASE("an evaluation plays forward passes alone: about a quarter of a step that recomputes") {
  const AskedRun asked;
  const double forward = forward_only_time(asked.scenario).value;
  CHECK(forward > asked.prediction.sec_per_iter.value / 5);
  CHECK(forward < asked.prediction.sec_per_iter.value / 3);
  RunQuestion question;
  question.tokens = 1000.0 * 2048 * 2048;
  question.eval_interval = 300;
  question.eval_iters = 2;
  CHECK(asked.answer(question).run->evaluation.value == doctest::Approx(3 * 2 * forward));
}

TEST_CASE("forward passes of one stage take that stage's forward time a micro batch") {
  const AskedRun asked({{"plan.pp", "1"}, {"plan.dp", "48"}, {"plan.gbs", "1920"}});
  CHECK(forward_only_time(asked.scenario).value ==
        doctest::Approx(10 * asked.prediction.stages[0].forward_s));
}

TEST_CASE("a ramp that ends elsewhere than the plan is refused") {
  const AskedRun asked;
  RunQuestion question;
  question.ramp = BatchRamp{16, 1024, 16};
  CHECK(error_text([&] { (void)asked.answer(question); }) ==
        "gbs_ramp: ends at 1024, but the global batch size is 2048; an end there would do, or gbs "
        "1024");
}

TEST_CASE("a whole run over a ramp needs to know how long that lasts") {
  const AskedRun asked;
  RunQuestion question;
  question.tokens = 1e9;
  question.ramp = BatchRamp{1024, 2048, 1024};
  CHECK(error_text([&] { (void)asked.answer(question); }) ==
        "gbs_ramp: with tokens it needs ramp_samples, the sequences over which the batch "
        "grows");
}

TEST_CASE("a size that no micro batch divides ends the question") {
  const AskedRun asked;
  RunQuestion question;
  question.tokens = 1e9;
  question.ramp = BatchRamp{12, 2048, 4};
  question.ramp_samples = 1000;
  CHECK(error_text([&] { (void)asked.answer(question); }) ==
        "gbs_ramp: no micro batch that fits divides a global batch of 12; start and increment "
        "must be multiples of dp");
}

}  // namespace
}  // namespace prequel
