# What a wheel holds besides the Python files: the binding and its stub, the command, and the sources of firmware.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)
file(GLOB BINDING_SOURCES CONFIGURE_DEPENDS python/*.cc)
nanobind_add_module(_core NB_STATIC ${BINDING_SOURCES})
target_link_libraries(_core PRIVATE corten_compiler)
target_compile_options(nanobind-static PRIVATE -w)   # not ours
get_target_property(NANOBIND_HEADERS nanobind-static INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(_core SYSTEM PRIVATE ${NANOBIND_HEADERS})
nanobind_add_stub(_core_stub MODULE _core OUTPUT _core.pyi PYTHON_PATH $<TARGET_FILE_DIR:_core> DEPENDS _core)

install(TARGETS _core LIBRARY DESTINATION corten)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_core.pyi DESTINATION corten)
install(TARGETS corten RUNTIME DESTINATION corten/bin)
set(SHARE corten/share/corten)  # where the command looks, from its own place upwards
install(DIRECTORY runtime ops cmake DESTINATION ${SHARE} FILES_MATCHING
  PATTERN "*.h" PATTERN "*.cc" PATTERN "*.def" PATTERN "*.inc" PATTERN "*.cmake"
  PATTERN "op.cc" EXCLUDE PATTERN "*legalize.cc" EXCLUDE PATTERN "test.cc" EXCLUDE PATTERN "host.cmake" EXCLUDE)
install(DIRECTORY test/board DESTINATION ${SHARE}/test)
install(FILES tools/qemu_count.c DESTINATION ${SHARE}/tools)
install(FILES CMakeLists.txt DESTINATION ${SHARE})
