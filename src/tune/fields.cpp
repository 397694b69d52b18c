#include "tune/fields.h"

#include "convt_jit/error.h"
#include "log/printable.h"

#include <fmt/format.h>

#include <utility>

namespace convt_jit {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = 4096;  // of a text

// Safe for any value that is no deeper than a document may be.
std::string shown(const json& value) { return printable(value.dump(-1, ' ', true, json::error_handler_t::replace)); }

std::int64_t integer_of(const char* key, const json& value, std::int64_t low, std::int64_t high) {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
    if (!fits || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
        throw LayerError(key, shown(value), fmt::format("whole numbers from {} to {}", low, high));
    return value.get<std::int64_t>();
}

}  // namespace

Fields::Fields(json& value) : object_(value) {
    if (!value.is_object()) throw LayerError("it", shown(value), "an object");
}

json Fields::take(const char* key, Presence presence) {
    const auto found = object_.find(key);
    json value;
    if (found != object_.end()) {
        value = std::move(*found);
        object_.erase(found);
    }
    if (value.is_null() && presence == Presence::required) throw LayerError(key, "missing", "a value");
    return value;
}

std::string Fields::text(const char* key, Presence presence) {
    const json value = take(key, presence);
    if (value.is_null()) return "";
    const auto* const text = value.get_ptr<const std::string*>();
    if (text == nullptr || text->size() > kLongest || (text->empty() && presence == Presence::required))
        throw LayerError(key, shown(value), fmt::format("text of up to {} bytes", kLongest));
    return *text;
}

std::int64_t Fields::integer(const char* key, std::int64_t low, std::int64_t high, Presence presence) {
    const json value = take(key, presence);
    return value.is_null() ? 0 : integer_of(key, value, low, high);
}

double Fields::number(const char* key, double high, Presence presence) {
    const json value = take(key, presence);
    if (value.is_null()) return 0;
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= high))
        throw LayerError(key, shown(value), fmt::format("numbers from 0 to {}", high));
    return value.get<double>();
}

Dims Fields::sizes(const char* key, std::int64_t high) {
    const json value = take(key, Presence::optional);
    if (value.is_null()) return {};
    if (!value.is_array() || value.size() > Dims::kMax)
        throw LayerError(key, shown(value), fmt::format("a list of up to {} sizes", Dims::kMax));
    Dims dims = Dims::filled(static_cast<int>(value.size()), 0);
    for (int axis = 0; axis < dims.rank(); ++axis)
        dims[axis] = integer_of(key, value[static_cast<std::size_t>(axis)], 1, high);
    return dims;
}

json Fields::list(const char* key) {
    json value = take(key, Presence::required);
    if (!value.is_array()) throw LayerError(key, shown(value), "a list");
    return value;
}

std::string Fields::rest() const {
    return object_.empty() ? "" : object_.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace convt_jit
