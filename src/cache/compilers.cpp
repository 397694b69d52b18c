#include "cache/compilers.h"

#include "cache/key.h"
#include "cache/layout.h"
#include "cache/temporary.h"

#include <exception>

namespace convt_jit {

std::string compiler_record(const std::string& name, const std::string& producer) {
    return producer + "\n" + digest(name + "\n" + producer) + "\n";
}

std::optional<std::string> parse_compiler_record(const std::string& name, std::string_view text) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    std::string producer(text.substr(0, end));
    return compiler_record(name, producer) == text ? std::optional(std::move(producer)) : std::nullopt;
}

std::optional<std::string> recall_compiler(const std::string& directory, const std::string& identity,
                                           bool declared) try {
    std::error_code error;
    const auto root = Root::open(directory, declared, error);
    if (!root) return std::nullopt;
    const auto folder = root->folder(layout::kCompilers, error);
    if (error) return std::nullopt;
    const std::string name = digest(identity);
    const auto file = root->file(folder, name, error);
    if (error) return std::nullopt;
    const auto text = read_whole(file, kMaxCompilerRecord, error);
    return text ? parse_compiler_record(name, *text) : std::nullopt;
} catch (const std::exception&) {
    return std::nullopt;
}

void remember_compiler(const std::string& directory, const std::string& identity, const std::string& producer,
                       bool declared) try {
    std::error_code error;
    const auto root = Root::make(directory, declared, error);
    const std::string name = digest(identity), record = compiler_record(name, producer);
    if (!root || record.size() > kMaxCompilerRecord) return;
    const auto folder = root->make_folder(layout::kCompilers, error);
    if (!error) static_cast<void>(publish(folder, name, record, root->file_mode()));
} catch (const std::exception&) {
    // Only a convenience is lost.
}

}  // namespace convt_jit
