#include "cache/lookup.h"

#include "convt_jit/error.h"
#include "log/log.h"

#include <exception>

namespace convt_jit {

std::shared_ptr<const Entry> find(Store& store, const KeyFields& fields, ProducerPolicy policy) try {
    // The usual case asks for one name and nothing else.
    if (!fields.producer.empty())
        if (auto entry = store.find(digest(fields))) return entry;
    if (!fields.producer.empty() && policy == ProducerPolicy::exact) return nullptr;
    for (const auto& producer : acceptable_producers(policy, fields.producer, store.producers())) {
        if (producer == fields.producer) continue;
        KeyFields other = fields;
        other.producer = producer;
        if (auto entry = store.find(digest(other))) return entry;
    }
    return nullptr;
} catch (const std::exception& error) {
    log::warning("{}: {}", store.describe(), error.what());
    return nullptr;
}

std::shared_ptr<const Entry> make_once(Store& store, const std::string& key, const std::function<Entry()>& make) {
    const Claim claim = store.claim(key);
    if (claim.found != nullptr) return claim.found;
    if (claim.stopped) throw StoppedError("it was to wait no longer for another process that compiles the same kernel");
    auto entry = std::make_shared<const Entry>(make());
    store.put(key, *entry);  // where it cannot be kept, it serves this process all the same
    return entry;
}

}  // namespace convt_jit
