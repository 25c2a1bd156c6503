#include "cli/import/foreign_file.hpp"

#include <doctest/doctest.h>

#include "hw/base/json_cursor.hpp"
#include "models/job/library.hpp"
#include "models/layers/parameters.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

Transformer model_of(const std::string& name) {
  const auto translated = translate_model(fixture(name));
  REQUIRE(translated);
  return read_transformer(Document::parse(name, translated->json));
}

TEST_CASE("a config of each family gives the parameters that its authors state") {
  const struct {
    const char* file;
    double billions;
  } known[] = {{"gpt2-config.json", 0.124},      {"bloom-config.json", 176.2},
               {"opt-config.json", 65.7},        {"gpt-neox-config.json", 20.6},
               {"llama-2-7b-config.json", 6.74}, {"llama-3-70b-config.json", 70.6},
               {"mistral-7b-config.json", 7.24}, {"qwen3-0.6b-config.json", 0.596},
               {"gemma-7b-config.json", 8.54},   {"mpt-7b-config.json", 6.65},
               {"falcon-7b-config.json", 6.92}};
  for (const auto& one : known) {
    CAPTURE(one.file);
    const double parameters = static_cast<double>(total_parameters(model_of(one.file)));
    CHECK(parameters / 1e9 == doctest::Approx(one.billions).epsilon(0.005));
  }
}

TEST_CASE("multi-query attention of Falcon and grouped queries of Llama 3 are read") {
  CHECK(model_of("falcon-7b-config.json").kv_heads == 1);
  CHECK(model_of("llama-3-70b-config.json").kv_heads == 8);
  CHECK(model_of("mpt-7b-config.json").position == PositionEmbedding::alibi);
}

TEST_CASE("keys that are not used are listed as ignored") {
  const ImportedJob job = import_files({fixture("gpt2-config.json")}).job;
  CHECK(job.report.ignored ==
        std::vector<std::string>{"activation_function", "n_ctx", "resid_pdrop"});
}

TEST_CASE("a DeepSpeed config gives batch sizes, ZeRO stage, offload and precision") {
  const PlanRequest plan = import_files({fixture("ds-config.json")}).job.plan;
  CHECK(plan.gbs == 2048);
  CHECK(plan.mbs == 2);
  CHECK(plan.zero == 1);
  CHECK(plan.precision == Precision::bf16);
  CHECK_FALSE(plan.offload);
  const ImportedJob offloaded = import_files({fixture("ds-offload-config.json")}).job;
  CHECK(offloaded.plan.offload == Offload::optimizer_params);
  CHECK(offloaded.plan.zero == 3);
  CHECK(offloaded.plan.precision == Precision::fp16);
  CHECK(offloaded.value("gradient_accumulation_steps") == 8);
}

TEST_CASE("what is no text is refused at its first piece, even where it has no end") {
  CHECK(error_text([] { import_files({"/dev/zero"}); }).starts_with("/dev/zero: holds a NUL byte"));
}

TEST_CASE("each field of a job tells how sure it is and where it is from") {
  const auto told = [](const ImportedJob& job) { return origins_text(origins_of(job)); };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string script =
      told(job_of_script(kSmallLaunch + "--tensor-model-parallel-size 2 --fp16\n"));
  CHECK(has(script, "plan.tp 2 (stated): "));
  CHECK(has(script, "s.sh, --tensor-model-parallel-size\n"));
  CHECK(has(script, "plan.zero 0 (assumed): no recomputation, ZeRO 0: no argument asks for it\n"));
  CHECK(has(told(job_of_script(kSmallLaunch + "--enable_grad_ckpt\n")),
            "plan.recompute full (guessed): "));
  const std::string yaml =
      told(job_of_yaml("model:\n  tensor_model_parallel_size: 2\n" + kSmallShape));
  CHECK(has(yaml, "plan.tp 2 (stated): "));
  CHECK(has(yaml, "config.yaml, model.tensor_model_parallel_size\n"));
  const std::string config = told(import_files({fixture("gpt2-config.json")}).job);
  CHECK(has(config, "gpt2-config.json, n_embd\n"));
  CHECK(has(config, "gpt2-config.json, the family gpt2\n"));
}

TEST_CASE("a model and a DeepSpeed config make one job") {
  ImportedJob job =
      import_files({fixture("llama-2-7b-config.json"), fixture("ds-config.json")}).job;
  const Document document = Document::parse("job", job_json(job, "two files"));
  CHECK(document.root().at("plan").at("gbs").integer(1, 1 << 20) == 2048);
  CHECK(document.root().at("model").at("hidden_size").integer(1, 1 << 20) == 4096);
}

TEST_CASE("a Megatron script with arrays gives GPT-3 175B on 1,024 devices") {
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  const ImportedJob job = import_files({fixture("megatron-gpt3-175b.sh")}, {{}, {}, &library}).job;
  CHECK(job.model.layers == 96);
  CHECK(job.model.hidden == 12288);
  CHECK(job.model.vocab == 50257);
  CHECK(job.value("devices") == 1024);
  CHECK(job.plan.nodes == 128);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.tp == 8);
  CHECK(job.plan.pp == 16);
  CHECK(job.plan.mbs == 1);
  CHECK(job.plan.gbs == 1536);
  CHECK(job.plan.precision == Precision::fp16);
}

TEST_CASE("a Slurm script with quoted arguments and a here-document gives the 176B job") {
  const ImportedJob job = import_files({fixture("bigscience-176b.slurm")}).job;
  CHECK(job.model.layers == 70);
  CHECK(job.model.hidden == 14336);
  CHECK(job.model.position == PositionEmbedding::alibi);
  CHECK(job.model.embedding_norm == true);
  CHECK(job.value("devices") == 384);
  CHECK(job.plan.nodes == 48);
  CHECK(job.plan.dp == 4);
  CHECK(job.plan.pp == 12);
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.gbs == 2048);
  CHECK(job.plan.zero == 1);  // by DeepSpeed's bf16 optimizer at stage 0
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.plan.stage_split == StageSplit::embedding_as_layer);
  CHECK(job.plan.recompute == Recompute::full);
}

TEST_CASE("half a job is refused as a job, and a script as a model, with what would do") {
  const std::string model = fixture("gpt2-config.json");
  CHECK(error_text([&] { (void)translate_job(model); }) ==
        model +
            ": a Hugging Face config gives the model alone; use --model FILE with --cluster, "
            "--nodes, --gbs and degrees");
  const std::string batch = fixture("ds-config.json");
  CHECK(error_text([&] { (void)translate_job(batch); }) ==
        batch +
            ": a DeepSpeed config gives no model; add --model NAME, or run prequel import with its "
            "launch script");
  const std::string script = fixture("torchrun.sh");
  CHECK(error_text([&] { (void)translate_model(script); }) ==
        script +
            ": expected a model file or a Hugging Face config.json; a launch script is a whole job "
            "(prequel predict SCRIPT)");
}

TEST_CASE("the name of a model is no file to translate") {
  CHECK_FALSE(translate_model("llama-2-7b"));
  CHECK_FALSE(translate_model("no/such.json"));
}

TEST_CASE("a script sets the software's launches only where they are others") {
  const TemporaryFolder folder;
  const Library library({PREQUEL_SOURCE_DIR "/data"});
  ImportNames names;
  names.library = &library;
  names.cluster = "dgx-a100";
  const std::string start =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 64 "
      "--num-attention-heads 2 --seq-length 64 --micro-batch-size 1 --global-batch-size 8\n";
  CHECK(translate_job(folder.with("a.sh", start), names)->software.empty());
  const auto waits =
      translate_job(folder.with("b.sh", "export CUDA_LAUNCH_BLOCKING=1\n" + start), names);
  REQUIRE(waits->software.size() == 1);
  CHECK(waits->software.front().value == "blocking");
}

}  // namespace
}  // namespace prequel
