# Toolchain: GCC for m3.
set(CORTEN_CORE cortex-m3)
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
