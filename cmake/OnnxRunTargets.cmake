# The few functions that CMakeLists.txt is written in.

# Settings that every target of ours is compiled with.
function(onnx_run_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  # Results must not depend on the compiler's freedom with floating point: no
  # fused multiply-add behind our back, no -ffast-math, no -march=native.
  target_compile_options(${target} PRIVATE
    -ffp-contract=off
    -ffunction-sections -fdata-sections
    -Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Wvla -Wundef
    -Wno-missing-field-initializers  # designated initializers leave out defaults on purpose
    $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>
    # GCC 12's false alarms on optional, variant and std::string.
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>"
    $<$<BOOL:${ONNX_RUN_WERROR}>:-Werror>
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds;-Wno-error=stringop-overflow;-Wno-error=stringop-overread>")
  # Vectors of SVE have no size that a struct could have; NEON serves those machines.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    target_compile_definitions(${target} PRIVATE
      "HWY_BROKEN_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  endif()
  if(ONNX_RUN_SANITIZE)
    target_compile_options(${target} PUBLIC
      -fsanitize=${ONNX_RUN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${ONNX_RUN_SANITIZE})
  endif()
endfunction()

# onnx_run_add_library(<name> GLOB <pattern> [EXCLUDE <regex>] [PUBLIC ...] [PRIVATE ...]
#                      [HEADER_ONLY ...] [NO_INSTALL])
#
# Makes the static library onnx_run_<name>, alias onnx_run::<name>, of the sources that
# match the pattern at any depth. Names of our own libraries go without their prefix.
# HEADER_ONLY names libraries that nobody needs any more once ours is compiled.
# Without any source there is no target.
function(onnx_run_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_INSTALL" "GLOB;EXCLUDE" "PUBLIC;PRIVATE;HEADER_ONLY")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${arg_GLOB}")
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()
  if(NOT sources)
    return()
  endif()

  set(target onnx_run_${name})
  add_library(${target} STATIC ${sources})
  add_library(onnx_run::${name} ALIAS ${target})
  onnx_run_compile_settings(${target})
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/onnx_run>")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})

  foreach(scope IN ITEMS PUBLIC PRIVATE)
    foreach(library IN LISTS arg_${scope})
      if(library MATCHES "::")
        target_link_libraries(${target} ${scope} ${library})
      elseif(TARGET onnx_run_${library})
        target_link_libraries(${target} ${scope} onnx_run_${library})
      endif()
    endforeach()
  endforeach()
  foreach(library IN LISTS arg_HEADER_ONLY)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${library}>")
  endforeach()
  if(NOT arg_NO_INSTALL)
    set_property(GLOBAL APPEND PROPERTY ONNX_RUN_LIBRARIES ${target})
  endif()
endfunction()

# Links every library of ours that exists.
function(onnx_run_link_all target)
  foreach(name IN ITEMS tools standard ops proto runtime)
    if(TARGET onnx_run_${name})
      target_link_libraries(${target} PRIVATE onnx_run_${name})
    endif()
  endforeach()
endfunction()

# Sets ONNX_RUN_STATIC: whether programs can go without any shared library.
function(onnx_run_check_static)
  include(CheckCXXSourceCompiles)
  if(ONNX_RUN_SANITIZE OR NOT ONNX_RUN_OWN_HWY_TARGETS)
    set(ONNX_RUN_STATIC OFF PARENT_SCOPE)
    return()
  endif()
  set(CMAKE_REQUIRED_FLAGS -fPIE)
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-pie)
  set(CMAKE_REQUIRED_LIBRARIES ZLIB::ZLIB protobuf::libprotobuf-lite absl::statusor)
  check_cxx_source_compiles("#include <string>\nint main() { return std::string().size(); }"
    ONNX_RUN_STATIC)
  set(ONNX_RUN_STATIC "${ONNX_RUN_STATIC}" PARENT_SCOPE)
endfunction()

# onnx_run_add_program(<dir>/onnx_run_main.cc) makes the program onnx-run.
function(onnx_run_add_program main)
  cmake_path(GET main STEM program)
  string(REGEX REPLACE "_main$" "" program "${program}")
  string(REPLACE "_" "-" program "${program}")

  add_executable(${program} "${main}")
  onnx_run_compile_settings(${program})
  onnx_run_link_all(${program})
  target_link_libraries(${program} PRIVATE absl::flags absl::flags_parse absl::flags_usage)
  set(static "${ONNX_RUN_STATIC}")
  if(program STREQUAL "onnx-bench" AND TARGET benchmark::benchmark)
    target_link_libraries(${program} PRIVATE benchmark::benchmark)
    set(static OFF)  # Debian's benchmark is a shared library
  endif()
  # The time of one run is mostly the start of the process: few shared libraries, little to relocate.
  target_link_options(${program} PRIVATE -Wl,--as-needed -Wl,--gc-sections -Wl,-O1 -Wl,-z,now)
  if(static)
    target_link_options(${program} PRIVATE -static-pie)
  endif()
  if(ONNX_RUN_INSTALL)
    install(TARGETS ${program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endfunction()
