#include "bench/result_file.h"

#include "subject/choice.h"
#include "subject/json_text.h"
#include "subject/message.h"
#include "subject/output_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace convt_jit::tools {

nlohmann::ordered_json to_json(const Environment& environment, const std::vector<Result>& results) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Result& r : results) {
        nlohmann::ordered_json row = {
            {"name", r.named.name}, {"layer", to_string(r.named.layer)}, {"precision", precision_name(r.named.layer)}};
        if (r.info.family.empty()) {
            row["error"] = r.failure;
        } else {
            row.update({{"family", r.info.family},
                        {"ms", r.ms},
                        {"spread", r.spread},
                        {"speed_of_light_ms", r.speed_of_light_ms},
                        {"rel_l2", r.errors.rel_l2},
                        {"max_abs", r.errors.max_abs},
                        {"plan", r.info.plan},
                        {"weights", r.weights},
                        {"registers", r.info.registers},
                        {"spill_bytes", r.info.spill_bytes}});
            if (!r.failure.empty()) row["error"] = r.failure;
        }
        rows.push_back(std::move(row));
    }
    return {{"card", environment.card},
            {"driver", environment.driver},
            {"toolkit", environment.toolkit},
            {"commit", environment.commit},
            {"command", environment.command},
            {"copy_tb_per_s", environment.copy_tb_per_s},
            {"results", rows}};
}

void write_results(const std::string& path, const Environment& environment, const std::vector<Result>& results) {
    write_file(path, json_text(to_json(environment, results), 1) + "\n");
}

void print_results(const Environment& environment, const std::vector<Result>& results) {
    fmt::print("{}, driver {}, NVRTC {}, copy {:.2f} TB/s\n", environment.card, environment.driver, environment.toolkit,
               environment.copy_tb_per_s);
    if (!environment.operations_counted)
        fmt::print("no measured rates for this card: the speed of light counts bytes only\n");
    fmt::print("{:<20} {:<9} {:<9} {:>9} {:>7} {:>9} {:>8} {:>9}\n", "name", "precision", "family", "ms", "spread",
               "light ms", "of light", "rel L2");
    double log_sum = 0;
    int measured = 0;
    for (const Result& r : results) {
        const std::string name = title(r.named);
        if (!r.info.family.empty()) {
            fmt::print("{:<20} {:<9} {:<9} {:>9.4f} {:>6.1f}% {:>9.4f} {:>7.1f}% {:>9.2e}\n", name,
                       precision_name(r.named.layer), r.info.family, r.ms, 100 * r.spread, r.speed_of_light_ms,
                       100 * r.speed_of_light_ms / r.ms, r.errors.rel_l2);
            log_sum += std::log(r.speed_of_light_ms / r.ms);
            ++measured;
        }
        if (!r.failure.empty()) fmt::print("{:<20} FAILED: {}\n", name, shown(r.failure));
    }
    if (measured > 0)
        fmt::print("geometric mean over {} layers: {:.1f} % of the speed of light\n", measured,
                   100 * std::exp(log_sum / measured));
}

}  // namespace convt_jit::tools
