// CONVT_JIT_API marks what the shared library exports; everything else in it is hidden.
#pragma once

#if defined(__GNUC__)
#define CONVT_JIT_API __attribute__((visibility("default")))
#else
#define CONVT_JIT_API
#endif
