#include "engine/compiler.h"

#include "cache/compilers.h"
#include "compile/identity.h"
#include "convt_jit/error.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>

namespace convt_jit {
namespace {

// Threads that all want the first kernel of a process look for the compiler once, one after the other.
std::mutex& opening() {
    static auto* const mutex = new std::mutex;  // never destroyed, as the compiler
    return *mutex;
}

std::optional<std::string> recall(const CacheSettings& settings, const FileIdentity& identity) {
    if (!identity.exists()) return std::nullopt;
    const std::string text = to_string(identity);
    // The read-only ones too: an image may bring both a compiler and a cache that knows it.
    for (const auto& directory : directories(settings))
        if (auto producer = recall_compiler(directory, text, is_declared_trusted(directory, settings.trusted)))
            return producer;
    return std::nullopt;
}

// What the open compiler's file was when it was opened, until a cache directory remembers it.
std::atomic<bool> unremembered{false};
std::string& unremembered_identity() {
    static auto* const identity = new std::string;  // under opening()
    return *identity;
}

// Under opening().
const Nvrtc& open() {
    if (const Nvrtc* nvrtc = Nvrtc::opened()) return *nvrtc;
    const FileIdentity expected = nvrtc_identity();  // before it is opened: it may be replaced meanwhile
    const Nvrtc& nvrtc = Nvrtc::instance();
    // Only the file that the search foretells can be recognised by it next time.
    if (expected.exists() && expected == identity_of(nvrtc.path())) {
        unremembered_identity() = to_string(expected);
        unremembered = true;
    }
    return nvrtc;
}

// Under opening().
void remember(const Nvrtc& nvrtc, const CacheSettings& settings) {
    if (!settings.directory || !unremembered.exchange(false)) return;
    remember_compiler(*settings.directory, unremembered_identity(), producer_of(nvrtc.version()),
                      is_declared_trusted(*settings.directory, settings.trusted));
}

// The one that is open, with nothing left to be remembered.
const Nvrtc* known(const CacheSettings& settings, Remember how) {
    const Nvrtc* nvrtc = Nvrtc::opened();
    return nvrtc != nullptr && (how == Remember::no || !settings.directory || !unremembered) ? nvrtc : nullptr;
}

}  // namespace

std::string producer_of(const NvrtcVersion& version) {
    return version.build.empty() ? fmt::format("nvrtc {}.{}", version.major, version.minor)
                                 : fmt::format("nvrtc {}", version.build);
}

std::string wanted_producer(const CacheSettings& settings, Remember how) {
    if (const Nvrtc* nvrtc = known(settings, how)) return producer_of(nvrtc->version());
    const std::scoped_lock lock(opening());
    if (const Nvrtc* nvrtc = Nvrtc::opened()) {
        if (how == Remember::yes) remember(*nvrtc, settings);
        return producer_of(nvrtc->version());
    }
    const FileIdentity identity = nvrtc_identity();
    if (auto producer = recall(settings, identity)) return *std::move(producer);
    if (!identity.exists() || settings.producer == ProducerPolicy::any) return {};
    try {
        const Nvrtc& nvrtc = open();
        if (how == Remember::yes) remember(nvrtc, settings);
        return producer_of(nvrtc.version());
    } catch (const CompileError&) {
        return {};  // what is there is no compiler after all
    }
}

const Nvrtc& open_compiler(const CacheSettings& settings) {
    if (const Nvrtc* nvrtc = known(settings, Remember::yes)) return *nvrtc;
    const std::scoped_lock lock(opening());
    const Nvrtc& nvrtc = open();
    remember(nvrtc, settings);
    return nvrtc;
}

}  // namespace convt_jit
