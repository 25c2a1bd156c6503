// Asks an installed prequel how long a step of the shipped 176B-class job takes by micro batch.
#include <cstdio>

#include <prequel.hpp>

int main() {
  const prequel::Session session;
  try {
    const prequel::Call job{"predict", R"({"job": "bloom-176b-jean-zay"})", {DATA_DIR}};
    std::puts(session.predict_many(job, R"({"mbs": [1, 2, 4, 8]})").c_str());
  } catch (const prequel::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
