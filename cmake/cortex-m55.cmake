# Toolchain: GCC for m55.
set(CORTEN_CORE cortex-m55)
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
