#include "engine/miss.h"

#include <fmt/format.h>

#include <utility>

namespace convt_jit {

std::string describe(const Miss& miss) {
    const CacheKey& key = miss.wanted.fields;
    std::string text = fmt::format("there is no compiled kernel for \"{}\" on {}, and no compiler to make one.\n",
                                   miss.layer, miss.arch);
    text += fmt::format("Looked in {} for source {}, options {}, arch {}, producer {}, format {}.\n",
                        miss.caches.empty() ? "no cache" : miss.caches, key.source, key.options, key.arch,
                        key.producer.empty() ? "any" : key.producer, key.format);
    if (miss.nearest) {
        text += fmt::format("The nearest entry is {} ({}):\n", miss.nearest->entry.key, miss.nearest->entry.path);
        for (const auto& [field, wanted, nearest] : miss.nearest->differing)
            text += fmt::format("  {} is {}, wanted {}\n", field, nearest, wanted);
    }
    text += "To compile it, run this where there is a compiler, and bring the cache directory here:\n";
    if (miss.plan.empty())
        text += fmt::format("  convt warmup \"{}\" --arch {}{}\n", miss.layer, miss.arch,
                            miss.exact_nonfinite ? " --exact-nonfinite" : "");
    else  // the program warms default choices only
        text += fmt::format("  Engine::compile with PrepareOptions::plan = \"{}\"\n", miss.plan);
    return text + miss.why_no_compiler;
}

std::optional<Nearest> nearest_in(const std::vector<std::string>& directories, const CacheWanted& wanted) {
    std::optional<Nearest> best;
    for (const auto& directory : directories) try {
            CacheExplanation explanation = Cache(directory).explain(wanted);
            if (!explanation.nearest) continue;
            if (!best || is_nearer(wanted, *explanation.nearest, best->entry))
                best = Nearest{*std::move(explanation.nearest), std::move(explanation.differing)};
        } catch (const std::exception&) {
            // It is not there, or nobody may look into it: the lookup has said so already.
        }
    return best;
}

}  // namespace convt_jit
