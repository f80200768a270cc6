# Toolchain: GCC for m33.
set(CORTEN_CORE cortex-m33)
include(${CMAKE_CURRENT_LIST_DIR}/arm-none-eabi.cmake)
