# Finds everything the libraries are built on. Also installed beside
# onnx_runConfig.cmake, so that users find the same things the same way.

include(CMakeFindDependencyMacro)

# Static libraries where the system has them: a run of onnx-run is short, and each
# shared library costs a part of a millisecond at its start.
function(_onnx_run_find_library target header library)
  if(TARGET ${target})
    return()
  endif()
  string(MAKE_C_IDENTIFIER "${target}" id)
  find_path(${id}_INCLUDE_DIR "${header}" PATH_SUFFIXES openjpeg-2.5)
  find_library(${id}_LIBRARY NAMES "lib${library}.a" "${library}")
  mark_as_advanced(${id}_INCLUDE_DIR ${id}_LIBRARY)
  if(NOT ${id}_INCLUDE_DIR OR NOT ${id}_LIBRARY)
    message(FATAL_ERROR "Cannot find ${library} (${header}). `./dev build` installs what is missing.")
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION "${${id}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${${id}_INCLUDE_DIR}")
  if(${id}_LIBRARY MATCHES "libutf8proc\\.a$")
    set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS UTF8PROC_STATIC)
  elseif(${id}_LIBRARY MATCHES "libre2\\.a$")
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
  endif()
endfunction()

# Debian's abseil has both kinds of library, and its CMake package names the shared ones.
function(_onnx_run_prefer_static_absl)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "^absl::")
  foreach(target IN LISTS targets)
    get_property(type TARGET ${target} PROPERTY TYPE)
    if(NOT type STREQUAL "SHARED_LIBRARY")
      continue()
    endif()
    get_property(configs TARGET ${target} PROPERTY IMPORTED_CONFIGURATIONS)
    foreach(config IN LISTS configs)
      get_property(shared TARGET ${target} PROPERTY IMPORTED_LOCATION_${config})
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" static "${shared}")
      if(EXISTS "${static}")
        set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION_${config} "${static}")
      endif()
    endforeach()
  endforeach()
endfunction()

find_dependency(Threads)
find_dependency(absl)
_onnx_run_prefer_static_absl()
find_dependency(hwy)
# Whether third_party/highway/targets.cc stands in for libhwy.so, which is slow to load.
get_target_property(_onnx_run_hwy_type hwy::hwy TYPE)
set(ONNX_RUN_OWN_HWY_TARGETS OFF)
if(_onnx_run_hwy_type STREQUAL "SHARED_LIBRARY" AND hwy_VERSION MATCHES "^1\\.0\\."
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(ONNX_RUN_OWN_HWY_TARGETS ON)
endif()
if(NOT TARGET OnnxRunDeps::hwy)
  add_library(OnnxRunDeps::hwy INTERFACE IMPORTED GLOBAL)
  if(ONNX_RUN_OWN_HWY_TARGETS)
    get_target_property(_onnx_run_hwy_include hwy::hwy INTERFACE_INCLUDE_DIRECTORIES)
    set_target_properties(OnnxRunDeps::hwy PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${_onnx_run_hwy_include}")
  else()
    target_link_libraries(OnnxRunDeps::hwy INTERFACE hwy::hwy)
  endif()
endif()
_onnx_run_find_library(OnnxRunDeps::re2 re2/re2.h re2)
_onnx_run_find_library(OnnxRunDeps::utf8proc utf8proc.h utf8proc)

if(ONNX_RUN_IMAGE_CODECS)
  _onnx_run_find_library(OnnxRunDeps::zlib zlib.h z)
  _onnx_run_find_library(OnnxRunDeps::jpeg jpeglib.h jpeg)
  _onnx_run_find_library(OnnxRunDeps::png png.h png)
  _onnx_run_find_library(OnnxRunDeps::webp webp/decode.h webp)
  _onnx_run_find_library(OnnxRunDeps::openjp2 openjpeg.h openjp2)
  _onnx_run_find_library(OnnxRunDeps::tiff tiffio.h tiff)
  # What static libraries need themselves.
  set_property(TARGET OnnxRunDeps::png PROPERTY INTERFACE_LINK_LIBRARIES OnnxRunDeps::zlib m)
  set_property(TARGET OnnxRunDeps::webp PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads m)
  set_property(TARGET OnnxRunDeps::openjp2 PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads m)
  if(OnnxRunDeps__tiff_LIBRARY MATCHES "\\.a$")
    _onnx_run_find_library(OnnxRunDeps::zstd zstd.h zstd)
    _onnx_run_find_library(OnnxRunDeps::lzma lzma.h lzma)
    _onnx_run_find_library(OnnxRunDeps::jbig jbig.h jbig)
    _onnx_run_find_library(OnnxRunDeps::deflate libdeflate.h deflate)
    _onnx_run_find_library(OnnxRunDeps::Lerc Lerc_c_api.h Lerc)
    set_property(TARGET OnnxRunDeps::tiff PROPERTY INTERFACE_LINK_LIBRARIES
      OnnxRunDeps::webp OnnxRunDeps::jpeg OnnxRunDeps::zstd OnnxRunDeps::lzma OnnxRunDeps::jbig
      OnnxRunDeps::deflate OnnxRunDeps::Lerc OnnxRunDeps::zlib m)
  endif()
endif()

if(NOT DEFINED Protobuf_USE_STATIC_LIBS)
  set(Protobuf_USE_STATIC_LIBS ON)
endif()
find_dependency(Protobuf 3.20)

# onnx, in this order: targets of a surrounding project; an unpacked source tree that
# the caller names; an installed package, which `./dev` makes and names.
if(NOT TARGET ONNX::onnx)
  if(NOT ONNX_SOURCE_DIR AND DEFINED ENV{ONNX_SOURCE_DIR})
    set(ONNX_SOURCE_DIR "$ENV{ONNX_SOURCE_DIR}")
  endif()
  if(ONNX_SOURCE_DIR AND DEFINED onnx_run_SOURCE_DIR)
    set(ONNX_SOURCE_DIR "${ONNX_SOURCE_DIR}" CACHE PATH "Folder that holds onnx/onnx-ml.proto")
    add_subdirectory("${onnx_run_SOURCE_DIR}/third_party/onnx" "${onnx_run_BINARY_DIR}/onnx")
  else()
    find_package(ONNX 1.20 CONFIG QUIET)
    if(NOT ONNX_FOUND)
      message(FATAL_ERROR
        "Cannot find the CMake package ONNX 1.20 or later. `./dev build` builds one into its cache; "
        "-DONNX_SOURCE_DIR=<folder holding onnx/onnx-ml.proto> builds it from sources you have.")
    endif()
  endif()
endif()
# onnx's own package names its targets without a namespace up to some versions.
foreach(name IN ITEMS onnx onnx_proto)
  if(NOT TARGET ONNX::${name} AND TARGET ${name})
    add_library(ONNX::${name} ALIAS ${name})
  endif()
endforeach()
