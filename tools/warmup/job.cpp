#include "warmup/job.h"

#include "subject/choice.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

namespace convt_jit::tools {

std::string to_string(const Target& target) { return fmt::format("{} for {}", title(target.named), target.arch); }

std::vector<std::string> plans_of(const Layer& layer, const std::string& arch, const PrepareOptions& options,
                                  const TuningRecords& records) {
    if (!options.plan.empty() || options.exact_nonfinite || records.empty()) return {options.plan};
    return records.plans(layer, arch);
}

std::vector<Job> make_jobs(const std::vector<NamedLayer>& layers, const std::vector<std::string>& archs,
                           const PrepareOptions& options, const TuningRecords& records,
                           const std::function<bool()>& stop) {
    std::vector<Job> jobs;
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
    const auto add = [&](Target target, CacheWanted wanted) {
        const CacheKey& fields = wanted.fields;
        const auto [place, fresh] = known.try_emplace({fields.source, fields.options, fields.arch}, jobs.size());
        if (fresh)
            jobs.push_back({{std::move(target)}, std::move(wanted), ""});
        else
            jobs[place->second].targets.push_back(std::move(target));
    };
    for (const NamedLayer& named : layers)
        for (const std::string& arch : archs) {
            if (stop()) return jobs;
            try {
                for (const std::string& plan : plans_of(named.layer, arch, options, records)) {
                    PrepareOptions chosen = options;
                    chosen.plan = plan;
                    add({named, arch, plan}, Engine::wanted(named.layer, arch, chosen));
                }
            } catch (const Error& error) {
                jobs.push_back({{{named, arch}}, std::nullopt, error.what()});
            }
        }
    return jobs;
}

}  // namespace convt_jit::tools
