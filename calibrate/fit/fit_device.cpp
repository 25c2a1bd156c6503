#include "calibrate/fit/fit.hpp"

namespace prequel {

DeviceFits fit_device(const std::vector<Measurement>& points, const FitOptions& options,
                      Device& device) {
  DeviceFits fits;
  fits.streams = fit_streams(points, options, device);  // casts before the products with them
  fits.gemm = fit_gemm(points, options, device);
  fits.attention = fit_attention(points, options, device);
  fits.experts = fit_experts(points, options, device);
  fits.host_link = fit_host_link(points, options, device);
  fits.overlap = fit_overlap(points, options, device);
  return fits;
}

std::vector<FitReport> all_reports(const DeviceFits& fits) {
  std::vector<FitReport> all;
  for (const auto* part : {&fits.gemm, &fits.streams, &fits.attention, &fits.experts,
                           &fits.host_link, &fits.overlap}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

}  // namespace prequel
