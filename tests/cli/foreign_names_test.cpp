#include "cli/import/job/foreign_names.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "cli/import/job/job_fields.hpp"
#include "cli/import/job/job_rules.hpp"
#include "cli/import/settings/megatron_arguments.hpp"
#include "hw/base/json_cursor.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

ForeignNames shipped() {
  return read_foreign_names(Library({PREQUEL_SOURCE_DIR "/data"}));
}

TEST_CASE("the longest part of a key's path that has a name counts") {
  const ForeignNames names = shipped();
  REQUIRE(named_by_path(names.keys, "optimizer.zero_stage"));
  CHECK(*named_by_path(names.keys, "optimizer.zero_stage") == "--zero-stage");
  CHECK(*named_by_path(names.keys, "a.b.num_hidden_layers") == "--num-layers");
  CHECK(named_by_path(names.keys, "a.learning_rate") == nullptr);
  CHECK(*named_by_path(names.keys_off, "model.add_bias_linear") == "--disable-bias-linear");
}

TEST_CASE("a number of a shape may stand behind other words, the longest name counts") {
  const ForeignNames names = shipped();
  const auto word = [&](const char* name) {
    const std::string* field = names.shape_number(name);
    return field == nullptr ? std::string() : *field;
  };
  CHECK(word("decoder_embed_dim") == "model.hidden_size");
  CHECK(word("decoder_ffn_embed_dim") == "model.intermediate_size");
  CHECK(word("num_key_value_heads") == "model.num_key_value_heads");
  CHECK(word("xhidden_size").empty());
  CHECK(is_of_layers("model.hidden_size"));
  CHECK_FALSE(is_of_layers("model.vocab_size"));
  CHECK_FALSE(is_of_layers("plan.tp"));
}

TEST_CASE("every number that names tell is one of a job") {
  const ForeignNames names = shipped();
  for (const auto* table : {&names.numbers, &names.shape_numbers, &names.number_flags}) {
    CHECK_FALSE(table->empty());
    for (const auto& [name, field] : *table) {
      CAPTURE(field);
      REQUIRE(is_number(field));
      CHECK_FALSE(Facts().value(field));
    }
  }
}

TEST_CASE("every reader that a framework's file names is there") {
  const ForeignNames names = shipped();
  for (const auto& [flag, reader] : names.readers) {
    CAPTURE(flag);
    CHECK(is_value_reader(names, reader));
  }
  for (const auto& [flag, reader] : names.lists) {
    CAPTURE(flag);
    CHECK(is_list_reader(names, reader));
  }
  CHECK_FALSE(is_value_reader(names, "colour"));
  CHECK_FALSE(is_list_reader(names, "plan.colour"));
}

TEST_CASE("settings of a flag set, keep, raise and add to fields of a job") {
  const Document file = Document::parse("f.json", R"({"effect":
      "plan.tp=4 plan.pp?=2 plan.zero>=1 plan.overlap+=tp products=fp8 model.mlp=geglu"})");
  Facts facts;
  for (const auto& [field, text] : {std::pair("plan.pp", "8"),
                                    {"plan.zero", "2"},
                                    {"plan.overlap", "ep"},
                                    {"plan.precision", "fp4"}}) {
    facts.set(field, text);
  }
  take_effect(read_effect(file.root().at("effect")), facts);
  const ImportedJob job = resolve(facts);
  CHECK(job.plan.tp == 4);
  CHECK(job.plan.pp == 8);
  CHECK(job.plan.zero == 2);
  CHECK(job.plan.overlap == WordSet<Overlapped>{Overlapped::tp, Overlapped::ep});
  CHECK(job.plan.precision == Precision::fp4);
  CHECK(job.model.mlp == Mlp::geglu);
}

TEST_CASE("a condition of a rule asks for flags, fields, comparisons and alternatives") {
  Facts job = job_with_names();
  job.set("plan.zero", "3");
  job.set("plan.precision", "bf16");
  job.set_flag("deepspeed");
  job.set("model_named", "Qwen2-7B-GPTQ");
  job.note("--fp16");
  job.set_number("--seq-length", 4096);
  job.set_number("--max-position-embeddings", 2048);
  job.set_flag("open.--nnodes");
  job.set("stack.name", "ours");
  job.set_flag("mark.of.levanter");
  for (const char* condition :
       {"--fp16", "plan.zero", "deepspeed", "plan.zero=3", "plan.zero>2", "4>plan.zero",
        "plan.precision!=fp16", "--seq-length>--max-position-embeddings", "model_named~gptq",
        "{--seq-length}%{plan.zero}==1&&{--seq-length}>4000", "{plan.tp:2}*{plan.zero}==6",
        "!{plan.tp}>0", "!plan.tp", "plan.tp|plan.zero", "!deepspeed|--fp16", "open.--nnodes",
        "of.levanter", "stack.name=ours"}) {
    CAPTURE(condition);
    CHECK(holds(condition, job));
  }
  for (const char* condition : {"--bf16", "plan.tp", "plan.tp=1", "plan.zero>3", "plan.tp>0",
                                "--max-position-embeddings>--seq-length", "of.verl"}) {
    CAPTURE(condition);
    CHECK_FALSE(holds(condition, job));
  }
}

TEST_CASE("a rule sets fields by others and by arithmetic, takes values back and says so") {
  Facts facts = job_with_names();
  facts.set("plan.tp", "8");
  facts.set("plan.recompute_layers", "4");
  const Document file = Document::parse(
      "f.json",
      R"json({"effect": "plan.etp={plan.tp} plan.recompute_layers=- plan.tp?=2 plan.nodes={plan.tp}/2*{plan.pp:3} plan.dp={plan.cp}*2 plan.mbs=max(1,int({plan.tp}*0.3))"})json");
  take_effect(read_effect(file.root().at("effect")), facts);
  const ImportedJob job = resolve(facts);
  CHECK(job.plan.etp == 8);
  CHECK_FALSE(job.plan.recompute_layers);
  CHECK(job.plan.tp == 8);
  CHECK(job.plan.nodes == 12);
  CHECK_FALSE(job.plan.dp);  // no cp is said
  CHECK(job.plan.mbs == 2);
  CHECK(filled("etp {plan.etp}: that of tp {plan.tp}{plan.cp}", job) == "etp 8: that of tp 8");
}

TEST_CASE("every rule that ships asks for what a job can have") {
  const ForeignNames names = shipped();
  CHECK(names.rules.size() > 8);
  std::size_t rules = 0;
  for (const auto& [step, all] : names.rules) {
    for (const Rule& rule : all) {
      CHECK((!rule.set.empty() || !rule.told.empty()));
      ++rules;
    }
  }
  CHECK(rules > 80);
}

TEST_CASE("flags that stand for others are none of them themselves") {
  const ForeignNames names = shipped();
  CHECK(names.same_flags.size() > 40);
  for (const auto& [flag, same] : names.same_flags) {
    CAPTURE(flag);
    CHECK_FALSE(names.same_flags.contains(same));
    CHECK(flag.find('_') == std::string::npos);
  }
}

TEST_CASE("a file of names with a field that no job has is refused") {
  const Document file = Document::parse(
      "names.json", R"({"schema": "prequel/foreign-names/1", "numbers": {"colour": ["colour"]}})");
  ForeignNames names;
  const std::string text = error_text([&] { read_name_file(file, "names", names); });
  CHECK(text.find("/numbers/colour: no number of a job is called so") != std::string::npos);
}

TEST_CASE("a framework's file with a field or a value that no job has is refused") {
  const Document file = Document::parse("f.json", R"({"schema": "prequel/framework/1", "name": "F",
      "switches": {"--a": "plan.colour=4", "--b": "plan.tp=4", "--c": "plan.zero=four"}})");
  ForeignNames names;
  const std::string text = error_text([&] { read_name_file(file, "f", names); });
  CHECK(text.find("/switches/--a: \"plan.colour=4\": no field of a job") != std::string::npos);
  CHECK(text.find("/switches/--c: ") != std::string::npos);
  CHECK(text.find("/switches/--b: ") == std::string::npos);
}

TEST_CASE("a framework's file in a folder of the user's own teaches its flags") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "import");
  (void)folder.with("import/ours.json",
                    R"({"schema": "prequel/framework/1", "name": "ours", "origin": "train.py",
          "stack": "pytorch-fsdp2-2024", "commands": ["ours-train"],
          "numbers": {"--depth-of-model": "model.num_hidden_layers"},
          "switches": {"--ours-gated": "model.mlp=swiglu"},
          "words": {"--ours-shard": {"all": "plan.zero=3"}, "--ours-of": {"*": "model_named=*"}},
          "defaults": [{"set": "plan.recompute=full", "told": "recompute full: ours"}]})");
  const Library library({folder / "", PREQUEL_SOURCE_DIR "/data"});
  ImportNames names;
  names.library = &library;
  const std::string script = folder.with(
      "s.sh",
      "ours-train --depth-of-model 24 --hidden-size 2048 --num-attention-heads 16 --ours-gated "
      "--ours-shard all --seq-length 2048 --micro-batch-size 1 --nnodes 1 --nproc-per-node 8\n");
  const ImportedJob job = import_files({script}, names).job;
  CHECK(job.model.layers == 24);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.plan.zero == 3);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(lists(job.report.assumed, "recompute full: ours"));
  CHECK(job.software == "pytorch-fsdp2-2024");
}

TEST_CASE("a reader of values that a framework's file names and nobody has is refused") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "import");
  (void)folder.with("import/ours.json",
                    R"({"schema": "prequel/framework/1", "name": "ours", "origin": "train.py",
          "commands": ["ours-train"], "reads": {"--ours-colour": "colour"}})");
  const Library library({folder / "", PREQUEL_SOURCE_DIR "/data"});
  ImportNames names;
  names.library = &library;
  const std::string script = folder.with("s.sh", "ours-train --ours-colour red --num-layers 24\n");
  const std::string told = error_text([&] { (void)import_files({script}, names); });
  CHECK(told.find("--ours-colour: a file in import/ has its value read by \"colour\"") !=
        std::string::npos);
}

}  // namespace
}  // namespace prequel
