# Installs libraries, headers, the CMake package onnx_run and a pkg-config file.

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY ONNX_RUN_LIBRARIES)
if(NOT libraries)
  return()
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/onnx_run")

install(TARGETS ${libraries} EXPORT onnx_runTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT onnx_runTargets NAMESPACE onnx_run:: DESTINATION "${package_dir}")
install(DIRECTORY runtime ops proto
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/onnx_run"
  FILES_MATCHING PATTERN "*.h")

configure_package_config_file(cmake/onnx_runConfig.cmake.in
  "${PROJECT_BINARY_DIR}/onnx_runConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/onnx_runConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/onnx_runConfig.cmake"
  "${PROJECT_BINARY_DIR}/onnx_runConfigVersion.cmake"
  cmake/OnnxRunDependencies.cmake
  DESTINATION "${package_dir}")

set(hwy_requirement libhwy)
if(ONNX_RUN_OWN_HWY_TARGETS)
  set(hwy_requirement "")
endif()
set(image_requirements "")
if(ONNX_RUN_IMAGE_CODECS)
  set(image_requirements "libtiff-4 libpng libjpeg libwebp libopenjp2")
endif()
configure_file(cmake/onnx_run.pc.in "${PROJECT_BINARY_DIR}/onnx_run.pc.in" @ONLY)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/onnx_run.pc" INPUT "${PROJECT_BINARY_DIR}/onnx_run.pc.in")
install(FILES "${PROJECT_BINARY_DIR}/onnx_run.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
