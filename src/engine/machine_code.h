// MachineCode: how the machine code of one request is come by: from memory, from disk, from another process, or from
// the compiler, in this order.
#pragma once

#include "cache/memory_store.h"
#include "cache/settings.h"
#include "convt_jit/cache.h"
#include "engine/request.h"
#include "render/render.h"

#include <functional>
#include <memory>
#include <string>

namespace convt_jit {

// Where machine code is looked up and kept.
struct Stores {
    CacheSettings settings;
    std::shared_ptr<MemoryStore> memory;
    std::shared_ptr<Store> disk;  // of `settings`; never null
};

// What a lookup asks the caches for. `producer`: that of the compiler, "" where it is not known.
[[nodiscard]] CacheWanted wanted(const Request& request, const std::string& producer);

class MachineCode {
public:
    // Sees what was compiled before anybody else may have it. Throws where it is no good: then nothing is kept.
    using Check = std::function<void(const Entry&)>;

    // Renders. `info` gets origin, key, times, and what `check` writes there of registers.
    MachineCode(const Request& request, const Stores& stores, KernelInfo& info);

    // Null where neither memory nor disk has it. Opens no compiler that a cache directory remembers. What was found on
    // disk is in memory afterwards.
    [[nodiscard]] std::shared_ptr<const Entry> find();
    // Whether find() would find it.
    [[nodiscard]] bool exists() { return look() != nullptr; }
    // After a miss. Compiles, unless another process does: then waits for it and takes what that one has published.
    // Throws CompileError; where there is no compiler it says what the caches lack and how to get it there.
    [[nodiscard]] std::shared_ptr<const Entry> make(const Check& check = {});
    // Where what was found cannot be used, whatever its checksum says: compiles, and puts it in the other's place.
    void replace(const Check& check);

private:
    [[nodiscard]] std::shared_ptr<const Entry> look();
    [[nodiscard]] Entry compile(const Check& check);
    [[noreturn]] void throw_not_cached(const std::string& why) const;

    const Request& request_;
    const Stores& stores_;
    KernelInfo& info_;
    Source source_;
    KeyFields fields_;
};

}  // namespace convt_jit
