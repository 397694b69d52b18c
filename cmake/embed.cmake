# Writes a C++ file with a function that returns the text of every file, by its name:
# cmake -DROOT=... -DFILES=a;b -DHEADER=render/embedded.h -DFUNCTION=embedded_templates -DOUT=... -P embed.cmake
set(rows "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} text)
  string(LENGTH "${text}" length)
  # Compilers limit one string literal to 64 KB; adjacent raw literals are joined.
  set(at 0)
  set(literal "\"\"\n")
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literal "R\"convt_text(${piece})convt_text\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND rows "    {\"${file}\", ${literal}},\n")
endforeach()
file(WRITE ${OUT} "// Generated; do not edit.
#include \"${HEADER}\"

namespace convt_jit {

const std::map<std::string_view, std::string_view>& ${FUNCTION}() {
  static const std::map<std::string_view, std::string_view> files = {
${rows}  };
  return files;
}

}  // namespace convt_jit
")
