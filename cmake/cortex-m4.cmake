# Toolchain: GCC for m4.
set(CORTEN_CORE cortex-m4)
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
