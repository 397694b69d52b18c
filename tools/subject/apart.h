// Apart: an output is neither what the same command reads nor a file of a cache.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace convt_jit::tools {

// The option and the file that it names; no file: it was not given.
using NamedFile = std::pair<std::string, std::string>;

// The directories that the environment named when this was asked first: to be asked before --cache replaces them.
[[nodiscard]] const std::vector<std::string>& environment_caches();

// Throws UsageError where writing to `output` would take the place of one of `inputs`, or of anything in a directory
// that the cache is read from, or that the environment names, or that looks like a cache, or of an entry of whichever
// cache, or be a file among the devices. Files are compared by what they are, not by their names: a link to one is that
// one.
void expect_apart(const NamedFile& output, const std::vector<NamedFile>& inputs);

// Whether two outputs would be written to one file, which need not be there yet; "-" is standard output. Any number may
// be thrown away together.
[[nodiscard]] bool same_output(const std::string& a, const std::string& b);

// Throws UsageError where two of them would be.
void expect_distinct(const std::vector<NamedFile>& outputs);

}  // namespace convt_jit::tools
