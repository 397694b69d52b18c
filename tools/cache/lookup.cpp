#include "cache/lookup.h"

#include "subject/message.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>
#include <utility>

namespace convt_jit::tools {

namespace {

// A CacheError begins with what it is about.
std::string without_subject(const CacheError& error) {
    const std::string text = error.what(), subject = error.subject() + ": ";
    return text.starts_with(subject) ? text.substr(subject.size()) : text;
}

}  // namespace

std::string to_string(const NotServed& reason) {
    if (reason.path.empty()) return shown_in_line(fmt::format("{}: {}", reason.directory, reason.why));
    return shown_in_line(fmt::format("{}/{}: {}: {}", reason.directory, reason.path, reason.reason, reason.why));
}

nlohmann::json to_json(const std::vector<NotServed>& reasons) {
    nlohmann::json all = nlohmann::json::array();
    for (const auto& [directory, reason, path, why] : reasons)
        all.push_back({{"directory", directory}, {"reason", reason}, {"path", path}, {"why", why}});
    return all;
}

Lookup look_up(const std::vector<std::string>& directories, const CacheWanted& wanted) {
    Lookup best;
    for (const std::string& directory : directories) {
        const Cache cache(directory);
        if (!cache.exists()) {
            std::error_code error;
            const bool other = std::filesystem::exists(directory, error);
            const char* const why = other ? "it is no directory" : "there is no such directory";
            best.passed_over.push_back(fmt::format("{}: {}", directory, why));
            best.reasons.push_back({directory, other ? "unusable" : "absent", "", why});
            continue;
        }
        try {
            CacheExplanation explanation = cache.explain(wanted);
            for (const CacheUnused& unused : explanation.unused)
                best.reasons.push_back({directory, unused.reason, unused.path, unused.why});
            if (!explanation.hit && explanation.unused.empty())
                best.reasons.push_back({directory, "no entry", "", "it has no such entry"});
            const bool nearer =
                explanation.nearest &&
                (!best.explanation.nearest || is_nearer(wanted, *explanation.nearest, *best.explanation.nearest));
            if (!explanation.hit && !nearer && !best.explanation.key.empty()) continue;
            const bool found = explanation.hit || explanation.nearest;
            best.explanation = std::move(explanation);
            best.directory = found ? directory : std::string();
            if (best.explanation.hit) break;
        } catch (const CacheError& error) {
            best.passed_over.emplace_back(error.what());
            best.reasons.push_back({directory, "unusable", "", without_subject(error)});
        }
    }
    return best;
}

}  // namespace convt_jit::tools
