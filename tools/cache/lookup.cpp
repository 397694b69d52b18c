#include "cache/lookup.h"

#include <utility>

namespace convt_jit::tools {

Lookup look_up(const std::vector<std::string>& directories, const CacheWanted& wanted) {
    Lookup best;
    for (const std::string& directory : directories) {
        const Cache cache(directory);
        if (!cache.exists()) {
            best.passed_over.push_back(directory + ": there is no such directory");
            continue;
        }
        try {
            CacheExplanation explanation = cache.explain(wanted);
            const bool nearer =
                explanation.nearest &&
                (!best.explanation.nearest || explanation.differing.size() < best.explanation.differing.size());
            if (!explanation.hit && !nearer && !best.explanation.key.empty()) continue;
            const bool found = explanation.hit || explanation.nearest;
            best.explanation = std::move(explanation);
            best.directory = found ? directory : std::string();
            if (best.explanation.hit) break;
        } catch (const CacheError& error) {
            best.passed_over.emplace_back(error.what());
        }
    }
    return best;
}

}  // namespace convt_jit::tools
