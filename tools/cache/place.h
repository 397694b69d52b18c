// Place: the cache directory that was named, and how to answer: what all `convt cache` subcommands share.
#pragma once

#include "convt_jit/cache.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace convt_jit::tools {

struct Place {
    std::optional<std::string> directory;  // unset: the one that an engine would use
    bool json = false;

    void add_to(CLI::App& command);
    // A directory that was named stands alone: from here on this process and those that it starts see an environment
    // with that one as the user's and no others to read from. Throws UsageError for what can be no directory.
    void settle() const;
    // Whether it is the command line's fault that a directory cannot be used: it names one that is not there and cannot
    // be made. One that is there and refuses is no bad usage.
    [[nodiscard]] bool mistyped(const Cache& cache) const { return directory.has_value() && !cache.exists(); }
    // Settles it. Throws UsageError where there is no such directory: an empty answer would look like an empty cache,
    // and the likely reason is a mistyped path.
    [[nodiscard]] Cache existing() const;
    // The same, but it may still have to be made.
    [[nodiscard]] Cache any() const;
};

}  // namespace convt_jit::tools
