// Lookup: an entry for key fields, whichever compiler made it among those that the policy accepts.
#pragma once

#include "cache/producer.h"
#include "cache/store.h"

#include <functional>
#include <memory>
#include <string>

namespace convt_jit {

// `fields.producer` is that of the compiler that would compile, empty where nobody knows it without opening one.
[[nodiscard]] std::shared_ptr<const Entry> find(Store& store, const KeyFields& fields, ProducerPolicy policy);

// After a miss: of all processes that come here with one key, one makes the entry and the others get what it put. Where
// `make` throws, the next one tries. Throws StoppedError where the wait for another one was given up.
[[nodiscard]] std::shared_ptr<const Entry> make_once(Store& store, const std::string& key,
                                                     const std::function<Entry()>& make);

}  // namespace convt_jit
