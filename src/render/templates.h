// Templates: the text of templates/, embedded at build time; $CONVT_JIT_TEMPLATES names a directory that overrides it.
#pragma once

#include <string>
#include <string_view>

namespace convt_jit {

// `name` is relative to templates/, "device/memory.cuh". Throws UnsupportedError for a name that does not exist.
[[nodiscard]] std::string template_text(std::string_view name);
// Whether the library has such a template; a directory that overrides them adds none.
[[nodiscard]] bool has_template(std::string_view name);

}  // namespace convt_jit
