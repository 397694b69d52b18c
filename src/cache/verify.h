// Verify: reads everything, says what is wrong, and mends what can be mended.
#pragma once

#include "cache/root.h"
#include "convt_jit/cache.h"

namespace convt_jit {

CacheVerification verify(const Root& root, bool repair);

}  // namespace convt_jit
