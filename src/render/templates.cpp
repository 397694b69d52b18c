#include "render/templates.h"

#include "convt_jit/error.h"
#include "render/embedded.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace convt_jit {

std::string template_text(std::string_view name) {
    if (const char* directory = std::getenv("CONVT_JIT_TEMPLATES"); directory != nullptr && *directory != 0) {
        const std::string path = std::string(directory) + "/" + std::string(name);
        std::ifstream file(path, std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        if (!file)
            throw UnsupportedError("template " + path +
                                   " cannot be read ($CONVT_JIT_TEMPLATES must hold all templates)");
        return text;
    }
    const auto found = embedded_templates().find(name);
    if (found == embedded_templates().end()) throw UnsupportedError("there is no template " + std::string(name));
    return std::string(found->second);
}

bool has_template(std::string_view name) { return embedded_templates().count(name) != 0; }

}  // namespace convt_jit
