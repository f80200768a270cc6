# Toolchain: GCC for m0plus.
set(CORTEN_CORE cortex-m0plus)
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
