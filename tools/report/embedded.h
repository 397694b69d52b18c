// Embedded: page.mustache, as the build found it.
#pragma once

namespace convt_jit::tools {

extern const char* const kReportPage;

}  // namespace convt_jit::tools
