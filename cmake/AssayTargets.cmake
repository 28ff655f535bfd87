# Two helpers, so that adding a file is one line in the folder's CMakeLists.txt.

# assay_library(<name> SOURCES a.cpp b.cpp [PUBLIC lib...] [PRIVATE lib...])
# A static library `assay_<name>` with the project's warnings; includes are from the repository root.
function(assay_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(assay_${name} STATIC ${ARG_SOURCES})
  target_include_directories(assay_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(assay_${name} PUBLIC cxx_std_20)
  target_link_libraries(assay_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} assay_warnings)
endfunction()

# assay_register(<library> REGISTRY <C++ type> HEADER <header> NAMES a b c)
# Compiles a.cpp, b.cpp, ... into assay_<library> and generates `register_all(<type>&)`, which calls
# `register_a(<type>&)` and so on in the order given. There is no static initialiser to be dropped by the
# linker, and the order of registration is the order of the list.
function(assay_register library)
  cmake_parse_arguments(ARG "" "REGISTRY;HEADER" "NAMES" ${ARGN})
  set(decls "")
  set(calls "")
  foreach(name IN LISTS ARG_NAMES)
    target_sources(assay_${library} PRIVATE ${name}.cpp)
    get_filename_component(base ${name} NAME)
    string(APPEND decls "void register_${base}(${ARG_REGISTRY}&);\n")
    string(APPEND calls "  register_${base}(registry);\n")
  endforeach()
  set(out ${CMAKE_CURRENT_BINARY_DIR}/register_all_${library}.cpp)
  file(GENERATE OUTPUT ${out} CONTENT
"// Generated from the list in ${library}'s CMakeLists.txt.
#include \"${ARG_HEADER}\"
namespace assay {
${decls}
void register_all(${ARG_REGISTRY}& registry) {
${calls}}
}  // namespace assay
")
  target_sources(assay_${library} PRIVATE ${out})
endfunction()

# assay_test(<name> SOURCES ... [LIBS ...] [LABEL quick|long])
# One doctest executable `test_<name>`; its sources need no main().
function(assay_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
  endif()
  add_executable(test_${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/doctest_main.cpp)
  target_link_libraries(test_${name} PRIVATE ${ARG_LIBS} doctest::doctest assay_warnings)
  target_compile_definitions(test_${name} PRIVATE ASSAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 600)
endfunction()
