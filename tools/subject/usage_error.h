// UsageError: the command line asks for what makes no sense or names what is not there. Exit code 2.
#pragma once

#include "convt_jit/error.h"

namespace convt_jit::tools {

class UsageError : public Error {
public:
    using Error::Error;
};

}  // namespace convt_jit::tools
