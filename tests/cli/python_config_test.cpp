#include "cli/import/configs/config_values.hpp"

#include <doctest/doctest.h>

#include "cli/import/python/python_values.hpp"
#include "tests/cli/imported_script.hpp"

namespace prequel {
namespace {

std::string value(const std::string& text, const std::string& path) {
  const auto values = python_values("c.py", text);
  const auto found = values.find(path);
  return found == values.end() ? "absent" : found->second;
}

ImportedJob job_of_python(const std::string& python, ImportNames names = {}) {
  return job_of_files({{"c.py", python}}, std::move(names));
}

bool has(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(
      lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST_CASE("assignments of literals and of arithmetic are read as Python would") {
  CHECK(value("steps = 5 * 8  # of all ranks\n", "steps") == "40");
  CHECK(value("a = b = 3\n", "b") == "3");
  CHECK(value("n: int = 2**10 - 24\n", "n") == "1000");
  CHECK(value("x = -7 // 2\n", "x") == "-4");
  CHECK(value("x = 7 / 2\n", "x") == "3.5");
  CHECK(value("x = int(8 / 3 * 4096)\n", "x") == "10922");
  CHECK(value("h = 4096\nf = h * 4\nf += 8\n", "f") == "16392");
  CHECK(value("x = 600_000\n", "x") == "600000");
  CHECK(value("x = 1e3\n", "x") == "1000");
  CHECK(value("s = 'a' \"b\"\n", "s") == "ab");
  CHECK(value("on = True; off = None\n", "on") == "True");
  CHECK(value("x = (2 +\n     3)\n", "x") == "5");
  CHECK(value("x = 1 + \\\n 2\n", "x") == "3");
}

TEST_CASE("dicts, constructors, lists and parts of them have paths") {
  const std::string text = R"("""A config."""
from somewhere import Thing
SIZE = 8
data = dict(seq_len=2048, folders=["a", "b"], **dict(extra=1))
model = {"hidden": SIZE * 512, "moe": {"experts": [1, 2]}}
part = Thing(width=data["seq_len"], kind=Thing.other)
model["layers"] = 4
)";
  CHECK(value(text, "data.seq_len") == "2048");
  CHECK(value(text, "data.folders") == "a b");
  CHECK(value(text, "data.extra") == "1");
  CHECK(value(text, "model.hidden") == "4096");
  CHECK(value(text, "model.moe.experts") == "1 2");
  CHECK(value(text, "model.layers") == "4");
  CHECK(value(text, "part.width") == "2048");
  CHECK(value(text, "part.kind") == "$Thing.other");
  CHECK(value(text, "SIZE") == "absent");  // the model is made of it
}

TEST_CASE("what only a run would tell is kept as its text") {
  CHECK(value("x = f(2)\ny = 3\n", "x") == "$f(2)");
  CHECK(value("x = f(2)\ny = 3\n", "y") == "3");
  CHECK(value("x = 4 if big else 2\n", "x") == "$4 if big else 2");
  CHECK(value("x = f'{y}'\n", "x") == "$f'{y}'");
  CHECK(value("x = 2 ** 9999\n", "x") == "$2 ** 9999");
  CHECK(value("x = 1 / 0\n", "x") == "$1 / 0");
  CHECK(value("d = dict(a=not b, c=2)\n", "d.c") == "2");
  CHECK(error_text([] {
          (void)job_of_python("n_layer = depth()\nblock_size = 64\nn_embd = 64\n");
        }).find("--num-layers is left out: $depth() could not be resolved") != std::string::npos);
}

TEST_CASE("a program is refused by the line that makes it one") {
  const auto refusal = [](const std::string& text) {
    return error_text([&] { (void)python_values("c.py", text); });
  };
  CHECK(refusal("a = 1\n\ndef f():\n  return 1\n")
            .starts_with("c.py: looks like a program in Python, which prequel does not run (line "
                         "3: def f():"));
  CHECK(refusal("a = 1\nif a:\n  b = 2\n").find("(line 2: if a:)") != std::string::npos);
  CHECK(refusal("print(1)\n").find("(line 1: print(1))") != std::string::npos);
  CHECK(refusal("a.append(1)\n").find("(line 1: a.append(1))") != std::string::npos);
  CHECK(refusal("x = " + std::string(100, '(') + "\n").find("nested deeper") != std::string::npos);
  std::string doubling = "a0 = [1]\n";
  for (int i = 1; i < 40; ++i) {
    doubling += "a" + std::to_string(i) + " = [a" + std::to_string(i - 1) + ", a" +
                std::to_string(i - 1) + "]\n";
  }
  CHECK(refusal(doubling).find("values") != std::string::npos);
}

const std::string kNano =
    "# a comment\nwandb_log = True\nbatch_size = 12\nblock_size = 1024\n"
    "gradient_accumulation_steps = 5 * 8\n";

TEST_CASE("nanoGPT's accumulation steps are of all ranks, and its defaults are told") {
  const ImportNames one{"dgx-a100", {}, {}, {{"plan.nodes", "1"}}};
  const ImportedJob job = job_of_python(kNano, one);
  CHECK(job.plan.mbs == 12);
  CHECK(job.plan.dp == 8);
  CHECK(job.plan.gbs == 480);
  CHECK(job.model.layers == 12);
  CHECK(job.model.vocab == 50304);
  CHECK(job.model.linear_bias == false);
  CHECK(lists(job.report.assumed,
              "n_layer 12, n_head 12, n_embd 768, vocab_size 50304, bias False, dtype bfloat16: "
              "nanoGPT's, as the configuration does not say it"));
  CHECK(job_of_python(kNano, {"dgx-a100", {}, {}, {{"plan.nodes", "4"}}}).plan.gbs == 480);
  const ImportedJob both = job_of_files(
      {{"r.sh", "torchrun --nproc_per_node=8 train.py config/c.py --batch_size=4\n"},
       {"c.py", kNano + "n_layer = 48\nn_embd = 1600\nn_head = 25\ndtype = 'float16'\n"}});
  CHECK(both.plan.gbs == 160);
  CHECK(both.plan.precision == Precision::fp16);
  CHECK(both.model.layers == 48);
  CHECK(job_of_python(kNano + "bias = True\n", one).model.linear_bias == true);
  CHECK(refusal_of_script("torchrun --nproc_per_node=8 train.py config/c.py\n")
            .find("names the configuration config/c.py") != std::string::npos);
}

const std::string kInternEvo = R"(JOB_NAME = "7b_train"
SEQ_LEN = 2048
HIDDEN_SIZE = 4096
model_type = "INTERNLM"
data = dict(seq_len=SEQ_LEN, micro_num=4, micro_bsz=2, rampup_batch_size="", train_folder=None)
adam = dict(lr=1e-4, adam_beta1=0.9)
)";

std::string internevo(const std::string& model, const std::string& parallel) {
  return kInternEvo +
         "model = dict(num_attention_heads=32, vocab_size=103168, hidden_size=HIDDEN_SIZE, "
         "num_layers=32, mlp_ratio=8 / 3, dtype=\"torch.bfloat16\", norm_type=\"rmsnorm\", "
         "use_flash_attn=True, " +
         model + ")\nparallel = dict(" + parallel + ")\n";
}

TEST_CASE("InternEvo's configuration gives model, batches and degrees") {
  const ImportNames names{"dgx-a100", {}, {}, {{"plan.nodes", "4"}}};
  const ImportedJob job = job_of_python(
      internevo("checkpoint=0.5, num_chunks=1",
                "zero1=dict(size=8), tensor=dict(size=1, mode=\"mtp\"), "
                "pipeline=dict(size=2, interleaved_overlap=True), weight=dict(size=1)"),
      names);
  CHECK(job.model.layers == 32);
  CHECK(job.model.ffn_hidden == 11008);
  CHECK(job.model.mlp == Mlp::swiglu);
  CHECK(job.model.qkv_bias == true);
  CHECK(job.model.linear_bias == false);
  CHECK(job.plan.pp == 2);
  CHECK(job.plan.dp == 16);
  CHECK(job.plan.mbs == 2);
  CHECK(job.plan.gbs == 128);
  CHECK(job.plan.zero == 1);
  CHECK(job.plan.recompute == Recompute::full);
  CHECK(job.plan.recompute_first == 8);
  CHECK(job.plan.precision == Precision::bf16);
  CHECK(job.plan.attention == AttentionKind::flash);
  CHECK(job.software == "internevo-2023");
  CHECK(job.plan.sharding_group == ShardingGroup::node);
  const ImportedJob isp =
      job_of_python(internevo("checkpoint=False",
                              "zero1=dict(size=-1), tensor=dict(size=2, mode=\"isp\"), weight=4"),
                    names);
  CHECK(isp.plan.cp == 2);
  CHECK(isp.plan.cp_comm == ContextComm::a2a);
  CHECK(isp.plan.zero == 3);
  for (const char* all : {"zero1=dict(size=-1), tensor=2", "zero1=32, tensor=1", "tensor=2"}) {
    CHECK(job_of_python(internevo("checkpoint=True", all), names).plan.sharding_group ==
          ShardingGroup::all);
  }
  CHECK(isp.plan.gbs == 128);
  CHECK(has(isp.report.left_out, "parallel.weight 4"));
  const ImportedJob few = job_of_python(internevo("checkpoint=True", "zero1=4, tensor=1"), names);
  CHECK(has(few.report.left_out, "groups that each hold all states"));
  CHECK(job_of_python(internevo("checkpoint=True", "zero1=1, tensor=1"), names).plan.zero == 0);
}

}  // namespace
}  // namespace prequel
