#pragma once

/// Other tools' files in place of prequel's own.

#include "models/job/library.hpp"

namespace prequel {

/// A launch script or log as the job, a Hugging Face config as the model: what was made of them
/// goes to stderr, unless `quiet`. Clusters and software that the request names are looked up.
JobRequest translated(JobRequest request, const Library& library, bool quiet);

}  // namespace prequel
