# Toolchain: GCC for m7.
set(CORTEN_CORE cortex-m7)
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
