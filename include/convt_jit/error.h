// Errors: one exception type per cause, each with what a person needs to mend it.
#pragma once

#include "convt_jit/export.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace convt_jit {

/// Base of everything that this library throws.
class CONVT_JIT_API Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A layer, a layer string, a layers file or a tensor shape is not valid.
/// `field` names the offending field ("stride[1]"), `value` is what was given, `allowed` what would be accepted.
class CONVT_JIT_API LayerError : public Error {
public:
    LayerError(std::string field, std::string value, std::string allowed)
        : Error(field + " is " + value + "; allowed: " + allowed),
          field_(std::move(field)),
          value_(std::move(value)),
          allowed_(std::move(allowed)) {}

    /// The same error, told from a wider place: "layers.jsonl:3: stride[1] is 0; allowed: ...".
    LayerError(const std::string& where, const LayerError& inner)
        : Error(where + ": " + inner.what()), field_(inner.field_), value_(inner.value_), allowed_(inner.allowed_) {}

    [[nodiscard]] const std::string& field() const noexcept { return field_; }
    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    [[nodiscard]] const std::string& allowed() const noexcept { return allowed_; }

private:
    std::string field_, value_, allowed_;
};

/// The compiler refused a source, knows no such arch, or is not there at all.
class CONVT_JIT_API CompileError : public Error {
public:
    struct Details {
        std::string arch;         ///< "sm_90a"
        std::string options;      ///< options given to the compiler, separated by blanks
        std::string log;          ///< the compiler's log, lines mapped to template file and line
        std::string constants;    ///< the constants that were baked into the source
        std::string source_path;  ///< where the full source was written; empty if it could not be
    };
    CompileError(const std::string& message, Details details) : Error(message), details_(std::move(details)) {}
    [[nodiscard]] const Details& details() const noexcept { return details_; }

private:
    Details details_;
};

/// A call was given up before it began to compile, as EngineOptions::stop_waiting asked for.
class CONVT_JIT_API StoppedError : public Error {
public:
    using Error::Error;
};

/// A call of the CUDA driver failed, or there is no driver or no such device.
class CONVT_JIT_API DriverError : public Error {
public:
    /// `call`: the driver function; `code`: its CUresult (or -1); `name`: the name of that code.
    DriverError(const std::string& message, std::string call, int code, std::string name)
        : Error(message), call_(std::move(call)), code_(code), name_(std::move(name)) {}
    [[nodiscard]] const std::string& call() const noexcept { return call_; }
    [[nodiscard]] int code() const noexcept { return code_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::string call_;
    int code_;
    std::string name_;
};

/// A valid request that this library, plan or device cannot serve. The message says what would.
class CONVT_JIT_API UnsupportedError : public Error {
public:
    using Error::Error;
};

/// The simulator saw a kernel do something wrong (an access out of bounds, a barrier not reached by all).
class CONVT_JIT_API SimulatorError : public Error {
public:
    using Error::Error;
};

}  // namespace convt_jit
