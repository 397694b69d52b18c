#include "cache/producer.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace convt_jit {

std::optional<ProducerPolicy> parse_producer_policy(std::string_view text) noexcept {
    for (const auto policy : {ProducerPolicy::exact, ProducerPolicy::same_major, ProducerPolicy::any})
        if (text == to_string(policy)) return policy;
    return std::nullopt;
}

std::string_view to_string(ProducerPolicy policy) noexcept {
    switch (policy) {
        case ProducerPolicy::exact:
            return "exact";
        case ProducerPolicy::same_major:
            return "same-major";
        case ProducerPolicy::any:
            return "any";
    }
    return "";
}

ProducerVersion parse_producer(std::string_view producer) {
    ProducerVersion version;
    const auto blank = producer.find(' ');
    version.name = producer.substr(0, blank);
    if (blank == std::string_view::npos) return version;
    const char* at = producer.data() + blank + 1;
    const char* const end = producer.data() + producer.size();
    while (at < end) {
        unsigned number = 0;
        const auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc()) break;
        version.numbers.push_back(number);
        at = next < end && *next == '.' ? next + 1 : end;
    }
    return version;
}

std::vector<std::string> acceptable_producers(ProducerPolicy policy, const std::string& wanted,
                                              std::vector<std::string> known) {
    if (!wanted.empty() && policy == ProducerPolicy::exact) return {wanted};
    const auto target = parse_producer(wanted);
    const auto serves = [&](const std::string& producer) {
        if (wanted.empty() || producer == wanted || policy == ProducerPolicy::any) return true;
        const auto version = parse_producer(producer);
        return version.name == target.name && !version.numbers.empty() && !target.numbers.empty() &&
               version.numbers.front() == target.numbers.front();
    };
    std::erase_if(known, [&](const std::string& producer) { return !serves(producer); });
    if (!wanted.empty()) known.push_back(wanted);
    const auto rank = [&](const std::string& producer) {
        return std::pair(producer == wanted, parse_producer(producer));
    };
    std::sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
        return std::pair(rank(a), a) > std::pair(rank(b), b);
    });
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return known;
}

}  // namespace convt_jit
