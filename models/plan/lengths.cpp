#include "models/plan/lengths.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "hw/base/csv.hpp"
#include "hw/base/errors.hpp"
#include "hw/base/files.hpp"
#include "hw/base/portable_math.hpp"
#include "hw/base/text.hpp"
#include "models/plan/plan.hpp"

namespace prequel {
namespace {

constexpr double kMostTokens = 1 << 24;  // of one sequence
constexpr std::uint64_t kSeed = 20'250'117;

/// Uniform in (0, 1) from a random word.
double uniform(std::uint64_t word) {
  return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
}

/// The normal deviate below which a share lies (Acklam's rational approximation in its middle and
/// tails; relative error 1.2e-9).
double standard_normal(double share) {
  constexpr std::array kA{-39.69683028665376, 220.9460984245205,  -275.9285104469687,
                          138.3577518672690,  -30.66479806614716, 2.506628277459239};
  constexpr std::array kB{-54.47609879822406, 161.5858368580409, -155.6989798598866,
                          66.80131188771972, -13.28068155288572};
  constexpr std::array kC{-0.007784894002430293, -0.3223964580411365, -2.400758277161838,
                          -2.549732539343734,    4.374664141464968,   2.938163982698783};
  constexpr std::array kD{0.007784695709041462, 0.3224671290700398, 2.445134137142996,
                          3.754408661907416};
  const auto tail = [&](double part) {
    const double q = std::sqrt(-2 * portable::log(part));
    return (((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  };
  constexpr double kTail = 0.02425;
  if (share < kTail) return tail(share);
  if (share > 1 - kTail) return -tail(1 - share);
  const double q = share - 0.5;
  const double r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw InputError(fmt::format(
      "lengths {}: {}; fixed would do, lognormal:MEAN:SD:MIN:MAX, or a file of whole numbers",
      in_quotes(text), why));
}

Lengths read_distribution(const std::string& text, std::string_view numbers) {
  std::string blanks(numbers);
  std::ranges::replace(blanks, ':', ' ');
  std::istringstream in(blanks);
  std::vector<double> said;
  for (std::string word; in >> word;) {
    const auto value = parse_number(word);
    if (!value || *value < 0 || *value > kMostTokens) {
      refuse(text, in_quotes(word) + " is no number of tokens");
    }
    said.push_back(*value);
  }
  if (said.size() != 4) refuse(text, fmt::format("four numbers are needed, not {}", said.size()));
  Lengths lengths;
  lengths.mean = said[0];
  lengths.sd = said[1];
  lengths.least = static_cast<std::int64_t>(std::max(1.0, said[2]));
  lengths.most = static_cast<std::int64_t>(said[3]);
  if (lengths.mean <= 0) refuse(text, "the mean is 0");
  if (lengths.most < lengths.least) refuse(text, "the longest is shorter than the shortest");
  return lengths;
}

Lengths read_counts(const std::string& text) {
  std::string content;
  try {
    content = read_file(text);
  } catch (const InputError&) {
    refuse(text, "no such file, nor a known distribution");
  }
  std::ranges::replace(content, ',', ' ');
  std::istringstream in(content);
  Lengths lengths;
  for (std::string word; in >> word;) {
    const auto tokens = parse_integer(word);
    if (!tokens || *tokens < 1 || static_cast<double>(*tokens) > kMostTokens) {
      refuse(text, "expected whole numbers of tokens, got " + in_quotes(word));
    }
    lengths.counted.push_back(*tokens);
  }
  if (lengths.counted.empty()) refuse(text, "the file is empty");
  return lengths;
}

/// One row of tokens.
struct Row {
  double longest{};  ///< what it is padded to by itself
  double squares{};
  double real{};
  double sequences{};
};

/// Rows of `count` micro batches' sequences.
std::vector<Row> draw_rows(const Lengths& lengths, const Filling& filling, std::size_t count,
                           std::mt19937_64& bits) {
  std::vector<Row> rows(count);
  const auto limit = static_cast<double>(filling.seq_len);
  double waiting = 0;  // the sequence that did not fit
  for (Row& row : rows) {
    const auto add = [&](double tokens) {
      row.real += tokens;
      row.squares += tokens * tokens;
      row.sequences += 1;
    };
    const auto next = [&] { return static_cast<double>(lengths.draw(bits, filling.seq_len)); };
    if (filling.packing == Packing::none) {
      add(next());
      row.longest = row.real;
      continue;
    }
    for (double tokens = waiting > 0 ? waiting : next();; tokens = next()) {
      waiting = tokens;
      if (row.real + tokens > limit) break;
      add(tokens);
    }
    row.longest = limit;
    if (filling.packing == Packing::packed_causal) row.squares = limit * limit;
  }
  return rows;
}

MicroBatchLoad load_of(const std::vector<const Row*>& rows, Packing packing) {
  MicroBatchLoad load;
  double longest = 0;
  for (const Row* row : rows) longest = std::max(longest, row->longest);
  for (const Row* row : rows) {
    load.computed += longest;
    load.squares += packing == Packing::none ? longest * longest : row->squares;
    load.real += row->real;
    load.sequences += row->sequences;
  }
  return load;
}

/// Rows by replica, in the order in which it computes them.
std::vector<std::vector<const Row*>> dealt(const std::vector<Row>& rows, const Filling& filling) {
  const auto replicas = static_cast<std::size_t>(filling.replicas);
  const auto mbs = static_cast<std::size_t>(filling.mbs);
  const std::size_t each = rows.size() / replicas;
  std::vector<const Row*> order(rows.size());
  std::ranges::transform(rows, order.begin(), [](const Row& row) { return &row; });
  std::vector<std::vector<const Row*>> shares(replicas);
  if (filling.balance == Balance::none) {
    for (std::size_t i = 0; i < order.size(); ++i) shares[i / each].push_back(order[i]);
    return shares;
  }
  const auto cost = [](const Row* row) { return std::pair(row->squares, row->real); };
  std::ranges::stable_sort(order, std::ranges::greater{}, cost);
  if (filling.balance == Balance::sorted) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      shares[i / mbs % replicas].push_back(order[i]);
    }
    return shares;
  }
  std::vector<double> sums(replicas);
  for (const Row* row : order) {
    std::size_t least = replicas;
    for (std::size_t i = 0; i < replicas; ++i) {
      if (shares[i].size() == each) continue;
      if (least == replicas || sums[i] < sums[least]) least = i;
    }
    shares[least].push_back(row);
    sums[least] += row->squares;
  }
  return shares;
}

}  // namespace

std::int64_t Lengths::draw(std::uint64_t word) const {
  if (!counted.empty()) return counted[word % counted.size()];
  const double spread = std::sqrt(portable::log1p(sd * sd / (mean * mean)));
  const double middle = portable::log(mean) - spread * spread / 2;
  const double tokens = portable::exp(middle + spread * standard_normal(uniform(word)));
  return std::clamp(static_cast<std::int64_t>(std::llround(std::min(tokens, kMostTokens))), least,
                    most);
}

std::optional<Lengths> read_lengths(const std::string& text) {
  constexpr std::string_view kLogNormal = "lognormal:";
  if (text == kFixedLengths) return std::nullopt;
  if (text.starts_with(kLogNormal)) {
    return read_distribution(text, std::string_view(text).substr(kLogNormal.size()));
  }
  return read_counts(text);
}

MicroBatchLoad& MicroBatchLoad::operator+=(const MicroBatchLoad& other) {
  computed += other.computed;
  squares += other.squares;
  real += other.real;
  sequences += other.sequences;
  return *this;
}

std::vector<std::vector<MicroBatchLoad>> draw_step(const Lengths& lengths, const Filling& filling,
                                                   std::mt19937_64& bits) {
  const auto count =
      static_cast<std::size_t>(filling.replicas * filling.micro_batches * filling.mbs);
  const std::vector<Row> rows = draw_rows(lengths, filling, count, bits);
  std::vector<std::vector<MicroBatchLoad>> loads;
  for (const std::vector<const Row*>& share : dealt(rows, filling)) {
    std::vector<MicroBatchLoad>& batches = loads.emplace_back();
    const auto mbs = static_cast<std::ptrdiff_t>(filling.mbs);
    for (auto first = share.begin(); first != share.end(); first += mbs) {
      batches.push_back(load_of({first, first + mbs}, filling.packing));
    }
  }
  return loads;
}

Filling filling_of(const Plan& plan) {
  return {plan.packing, plan.balance,        plan.seq_len, plan.mbs * plan.sequences_of_sample(),
          plan.dp,      plan.micro_batches()};
}

MicroBatchLoad mean_load(const Lengths& lengths, const Filling& filling, int steps) {
  std::mt19937_64 bits{kSeed};
  MicroBatchLoad sum;
  double count = 0;
  for (int step = 0; step < steps; ++step) {
    for (const auto& replica : draw_step(lengths, filling, bits)) {
      for (const MicroBatchLoad& load : replica) {
        sum += load;
        count += 1;
      }
    }
  }
  return {sum.computed / count, sum.squares / count, sum.real / count, sum.sequences / count};
}

}  // namespace prequel
