// Fields: the values of a JSON object, taken out one by one, so that what is left is what nobody knows.
#pragma once

#include "convt_jit/layer.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace convt_jit {

enum class Presence { required, optional };

// What is not as it must be is a LayerError that names the field. Absent, and null: 0 or "".
class Fields {
public:
    explicit Fields(nlohmann::json& value);

    [[nodiscard]] std::string text(const char* key, Presence presence = Presence::optional);
    [[nodiscard]] std::int64_t integer(const char* key, std::int64_t low, std::int64_t high,
                                       Presence presence = Presence::optional);
    // From 0 on, finite.
    [[nodiscard]] double number(const char* key, double high, Presence presence = Presence::optional);
    // None, or one for each of up to three axes, each above 0.
    [[nodiscard]] Dims sizes(const char* key, std::int64_t high);
    [[nodiscard]] nlohmann::json list(const char* key);
    // All that was not asked for, as JSON; "" where that is nothing.
    [[nodiscard]] std::string rest() const;

private:
    [[nodiscard]] nlohmann::json take(const char* key, Presence presence);

    nlohmann::json& object_;
};

}  // namespace convt_jit
