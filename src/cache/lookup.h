// Lookup: an entry for key fields, whichever compiler made it among those that the policy accepts.
#pragma once

#include "cache/producer.h"
#include "cache/store.h"

namespace convt_jit {

// `fields.producer` is that of the compiler that would compile, empty where nobody knows it without opening one.
[[nodiscard]] std::shared_ptr<const Entry> find(Store& store, const KeyFields& fields, ProducerPolicy policy);

}  // namespace convt_jit
