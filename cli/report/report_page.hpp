#pragma once

namespace prequel {

/// The report's page with styles and scripts inlined; `@TITLE@` and `@DATA@` stand for what is
/// reported. Empty where the build has none; its source is made by cmake/EmbedReport.cmake.
extern const char* const kReportPage;
/// Why the page is empty.
extern const char* const kReportMissing;

}  // namespace prequel
