#include "sim/search/requirement.hpp"

#include <doctest/doctest.h>

#include "tests/error_text.hpp"

namespace prequel {
namespace {

Plan some_plan() {
  Plan plan;
  plan.nodes = 48;
  plan.gpus = 384;
  plan.dp = 8;
  plan.tp = 4;
  plan.pp = 12;
  plan.mbs = 2;
  plan.gbs = 2048;
  plan.zero = 1;
  plan.recompute = Recompute::full;
  plan.schedule = Schedule::one_f_one_b;
  return plan;
}

bool holds(const std::string& text) {
  const Plan plan = some_plan();
  Transformer model;
  model.layers = 70;
  model.hidden = 14336;
  model.heads = 112;
  return Requirement::parse(text).holds({plan, model, 53.5});
}

TEST_CASE("arithmetic binds as in C: products before sums, sums before comparisons, && before ||") {
  CHECK(holds("1 + 2 * 3 == 7"));
  CHECK(holds("(1 + 2) * 3 == 9"));
  CHECK(holds("10 - 2 - 3 == 5"));
  CHECK(holds("7 % 4 * 2 == 6"));
  CHECK(holds("1 == 2 && 1 == 2 || 1 == 1"));
  CHECK(holds("-2 < 1 && !(1 > 2)"));
}

TEST_CASE("names stand for the plan, the model and the memory") {
  CHECK(holds("dp % 4 == 0 && gbs % 32 == 0"));
  CHECK(holds("microbatches == gbs / (dp * mbs)"));
  CHECK(holds("gpus == 8 * nodes && layers == 70 && hidden == 128 * heads"));
  CHECK(holds("mem_gib < 60"));
  CHECK_FALSE(holds("mem_gib < 50"));
  CHECK(holds("zero"));
}

TEST_CASE("text is compared with text") {
  CHECK(holds("recompute == 'full' && schedule != \"zb-h1\""));
  CHECK_FALSE(holds("offload == 'optimizer'"));
}

TEST_CASE("only what names the memory has to wait for it") {
  CHECK(Requirement::parse("pp > 1 && mem_gib < 70").needs_memory());
  CHECK_FALSE(Requirement::parse("pp > 1").needs_memory());
}

TEST_CASE("what cannot be read is refused with the place and what would do") {
  const auto refusal = [](const std::string& text) {
    return error_text([&] { static_cast<void>(Requirement::parse(text)); });
  };
  CHECK(refusal("dpp % 4 == 0") ==
        "require \"dpp % 4 == 0\": at character 1: unknown name \"dpp\" (did you mean \"dp\"?); "
        "text stands in quotes");
  CHECK(refusal("dp %") == "require \"dp %\": at character 5: expected a name, a number or \"(\"");
  CHECK(refusal("(dp") == "require \"(dp\": at character 4: expected \")\"");
  CHECK(refusal("dp = 4") == "require \"dp = 4\": at character 4: expected an operator or the end");
  CHECK(refusal("dp == 'full'") ==
        "require \"dp == 'full'\": at character 13: text can only be compared with text, by == "
        "or !=");
  CHECK(refusal("recompute") ==
        "require \"recompute\": at character 10: a text alone is no requirement; compare it with "
        "== or !=");
  CHECK(refusal("recompute == 'full") ==
        "require \"recompute == 'full\": at character 14: the quote is not closed");
  CHECK(refusal("recompute == 'fulll'") ==
        "require \"recompute == 'fulll'\": at character 21: recompute is never \"fulll\" (did you "
        "mean \"full\"?); none, selective, full would do");
  CHECK(
      refusal("'zb' != schedule") ==
      "require \"'zb' != schedule\": at character 17: schedule is never \"zb\" (did you mean "
      "\"zb-v\", \"zb-2p\", \"zb-h1\", \"zb-h2\"?); gpipe, 1f1b, "
      "interleaved-1f1b, zb-h1, zb-h2, dualpipe, dualpipe-v, zb-v, v-half, v-min, zb-2p would do");
  CHECK(refusal("precision == 'bf8'").ends_with("; fp32, tf32, fp16, bf16, fp8, fp4 would do"));
  CHECK(refusal("dp < 4 and tp < 2").ends_with("; && joins two conditions"));
  CHECK(refusal("dp < 4 or tp < 2").ends_with("; || joins two conditions"));
  CHECK(refusal("dp < 4 order").ends_with("expected an operator or the end"));
  CHECK(refusal("") == "require \"\": at character 1: expected a name, a number or \"(\"");
}

TEST_CASE("neither length nor depth brings it down") {
  const auto refusal = [](const std::string& text) {
    return error_text([&] { static_cast<void>(Requirement::parse(text)); });
  };
  CHECK(refusal(std::string(10000, '(')) ==
        "require: 10000 characters are too long; at most 1000 would do");
  CHECK(refusal(std::string(900, '(')).ends_with("more than 50 brackets deep"));
  CHECK(refusal(std::string(900, '-')).ends_with("more than 50 brackets deep"));
}

TEST_CASE("a division by zero is refused when it happens") {
  CHECK(error_text([] { holds("gbs % (zero - 1) == 0"); }) ==
        "require \"gbs % (zero - 1) == 0\": divides by zero for some plans; a divisor that is "
        "never 0 would do");
}

}  // namespace
}  // namespace prequel
