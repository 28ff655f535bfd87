# cmake -DROOT=<repository> -DOUT=<file.cpp> -P fingerprint.cmake
# Writes source_fingerprint(): one SHA-256 over the paths and contents of what results depend on.
set(text "")
foreach(folder core workloads hwmodels explorers)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.cpp ${ROOT}/${folder}/*.inc)
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} hash)
    string(APPEND text "${file} ${hash}\n")
  endforeach()
endforeach()
string(SHA256 fingerprint "${text}")
file(WRITE ${OUT}
"#include \"explorers/fingerprint.h\"
namespace assay {
const char* source_fingerprint() { return \"${fingerprint}\"; }
}  // namespace assay
")
