// DirectoryWatch: whether a directory is still the one that it was.
#pragma once

#include <string>

namespace convt_jit::tools {

class DirectoryWatch {
public:
    // One that is not there is not watched.
    explicit DirectoryWatch(std::string path);
    ~DirectoryWatch();
    DirectoryWatch(const DirectoryWatch&) = delete;
    DirectoryWatch& operator=(const DirectoryWatch&) = delete;

    // It was removed or renamed since, whether or not there is another one of its name.
    [[nodiscard]] bool gone() const noexcept;

private:
    std::string path_;
    int descriptor_ = -1;  // keeps its number from being given to another one
};

}  // namespace convt_jit::tools
