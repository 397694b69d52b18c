#include "cache/trust.h"

#include <string>

namespace convt_jit {
namespace {

class Category final : public std::error_category {
public:
    const char* name() const noexcept override { return "trust"; }
    std::string message(int value) const override {
        const char* reason = "not trusted";
        switch (static_cast<Distrust>(value)) {
            case Distrust::foreign_owner:
                reason = "it belongs to another user";
                break;
            case Distrust::group_writable:
                reason = "its group can write to it";
                break;
            case Distrust::world_writable:
                reason = "anybody can write to it";
                break;
        }
        return std::string(reason) + " (CONVT_JIT_CACHE_TRUSTED declares a directory trusted)";
    }
};

const Category& category() noexcept {
    static const Category instance;
    return instance;
}

}  // namespace

std::error_code make_error_code(Distrust reason) noexcept { return {static_cast<int>(reason), category()}; }

std::error_code distrust(const struct stat& status, uid_t user, bool declared) noexcept {
    if (declared) return {};
    if (status.st_uid != user && status.st_uid != 0) return Distrust::foreign_owner;
    if ((status.st_mode & S_IWOTH) != 0) return Distrust::world_writable;
    if ((status.st_mode & S_IWGRP) != 0) return Distrust::group_writable;
    return {};
}

bool is_distrust(const std::error_code& error) noexcept { return error.category() == category(); }

}  // namespace convt_jit
