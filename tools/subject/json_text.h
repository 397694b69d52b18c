// JsonText: a JSON value as text. Paths and arguments need not be UTF-8, and what was measured is worth more than they.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace convt_jit::tools {

template <class Json>
[[nodiscard]] std::string json_text(const Json& value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace convt_jit::tools
