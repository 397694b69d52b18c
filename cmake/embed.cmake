# Writes a C++ file with the text of every template: cmake -DROOT=... -DFILES=a;b -DOUT=... -P embed.cmake
set(rows "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} text)
  string(LENGTH "${text}" length)
  # Compilers limit one string literal to 64 KB; adjacent raw literals are joined.
  set(at 0)
  set(literal "")
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literal "R\"convt_text(${piece})convt_text\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND rows "    {\"${file}\", ${literal}},\n")
endforeach()
file(WRITE ${OUT} "// Generated from templates/; do not edit.
#include \"render/embedded.h\"

namespace convt_jit {

const std::map<std::string_view, std::string_view>& embedded_templates() {
  static const std::map<std::string_view, std::string_view> files = {
${rows}  };
  return files;
}

}  // namespace convt_jit
")
