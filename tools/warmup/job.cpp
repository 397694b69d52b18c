#include "warmup/job.h"

#include "subject/choice.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace convt_jit::tools {

std::string to_string(const Target& target) { return fmt::format("{} for {}", title(target.named), target.arch); }

std::vector<Job> make_jobs(const std::vector<NamedLayer>& layers, const std::vector<std::string>& archs,
                           const PrepareOptions& options, const std::function<bool()>& stop) {
    std::vector<Job> jobs;
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
    for (const NamedLayer& named : layers)
        for (const std::string& arch : archs) {
            if (stop()) return jobs;
            Job job;
            job.targets.push_back({named, arch});
            try {
                job.wanted = Engine::wanted(named.layer, arch, options);
            } catch (const Error& error) {
                job.failure = error.what();
                jobs.push_back(std::move(job));
                continue;
            }
            const CacheKey& fields = job.wanted->fields;
            const auto [place, fresh] = known.try_emplace({fields.source, fields.options, fields.arch}, jobs.size());
            if (fresh)
                jobs.push_back(std::move(job));
            else
                jobs[place->second].targets.push_back(std::move(job.targets.front()));
        }
    return jobs;
}

}  // namespace convt_jit::tools
