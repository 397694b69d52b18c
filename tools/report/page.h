// Page: one self-contained HTML page about measured layers. Needs no network and runs no script.
#pragma once

#include "report/rows.h"

#include <string>

namespace convt_jit::tools {

[[nodiscard]] std::string report_page(const ReportData& data);

}  // namespace convt_jit::tools
