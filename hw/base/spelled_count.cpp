#include "hw/base/spelled_count.hpp"

#include <cctype>

#include "hw/base/csv.hpp"

namespace prequel {
namespace {

/// Returns the power of a thousand that a letter stands for; 0 for other letters.
int power_of(char letter) {
  switch (std::toupper(static_cast<unsigned char>(letter))) {
    case 'K': return 1;
    case 'M': return 2;
    case 'G':
    case 'B': return 3;
    case 'T': return 4;
    default: return 0;
  }
}

}  // namespace

bool is_spelled_count(const std::string& text) {
  return text.size() > 1 && power_of(text.back()) > 0 &&
         parse_number(text.substr(0, text.size() - 1)).has_value();
}

std::optional<double> spelled_count(const std::string& text, Thousand thousand) {
  if (!is_spelled_count(text)) return parse_number(text);
  double count = *parse_number(text.substr(0, text.size() - 1));
  for (int i = 0; i < power_of(text.back()); ++i) count *= static_cast<int>(thousand);
  return count;
}

}  // namespace prequel
