// Asks an installed prequel which micro batch of the shipped 176B-class job is the fastest.
#include <cstdio>

#include "models/job/library.hpp"
#include "sim/answer/prediction.hpp"

int main() {
  const prequel::Library library({DATA_DIR});
  prequel::JobRequest request;
  request.job = "bloom-176b-jean-zay";
  const prequel::Job job = read_job(library, request);
  prequel::PlanRequest wanted = job.plan;
  for (const int mbs : {1, 2, 4, 8}) {
    wanted.mbs = mbs;
    const prequel::Prediction answer = predict(resolve(job, wanted).scenario);
    std::printf("mbs %d: %.1f s, %.1f GiB\n", mbs, answer.sec_per_iter.value,
                answer.peak_memory.value / prequel::kGiB);
  }
}
