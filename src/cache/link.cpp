#include "cache/link.h"

#include <string>

namespace convt_jit {
namespace {

class Category final : public std::error_category {
public:
    const char* name() const noexcept override { return "link"; }
    std::string message(int) const override {
        return "it is a symbolic link, and none within a cache is followed (remove it, or `convt cache verify "
               "--repair`; "
               "only the directory of the whole cache may be a link)";
    }
};

const Category& category() noexcept {
    static const Category instance;
    return instance;
}

}  // namespace

std::error_code link_error() noexcept { return {1, category()}; }

bool is_link(const std::error_code& error) noexcept { return error.category() == category(); }

}  // namespace convt_jit
