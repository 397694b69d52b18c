# Writes OUTPUT, a header with the commit that is being built, and leaves it alone where it has not changed.
# cmake -DSOURCE=repository -DOUTPUT=commit.h -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(failed)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[// The commit that this program was built from. Generated.
#pragma once

namespace convt_jit::tools {
inline constexpr const char* kCommit = "@commit@";
}  // namespace convt_jit::tools
]])
