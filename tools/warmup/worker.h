// Worker: the process that compiles for `convt warmup`, and what the two say to each other: a JSON object a line.
#pragma once

#include "warmup/job.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit::tools {

struct Reply {
    JobResult result;
    std::uint64_t peak_bytes = 0;       // of the worker so far
    std::vector<std::string> warnings;  // since its last reply
    bool in_vain = false;               // the cache keeps nothing: there is no use in going on
};

[[nodiscard]] std::string request_line(const Target& target);
// Throws Error where it is no reply.
[[nodiscard]] Reply parse_reply(const std::string& line);
// What starts a worker that compiles with those options, after the program's name.
[[nodiscard]] std::vector<std::string> worker_arguments(const PrepareOptions& options);

// Adds the subcommand that a worker runs; --help does not show it. It reads requests until there are no more.
void add_worker(CLI::App& app, int& status);

}  // namespace convt_jit::tools
