#!/usr/bin/env bash
# check_sizes.sh: the runtime compiles without a warning for every core, with GCC and clang, is under 4 KiB of code on each, and
# takes at most 256 bytes of state. Prints a line per core and compiler.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++17 -Os -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections"
flags="$flags -Wall -Wextra -Wshadow -Werror -I."
limit=4096
failures=0

# Bytes of code and constants of the objects given.
text_of() { arm-none-eabi-size "$@" | awk 'NR > 1 { sum += $1 } END { print sum }'; }

check() {  # check NAME COMPILER FLAGS...
  local name=$1
  shift
  for part in run verify; do
    if ! "$@" $flags -c runtime/$part.cc -o "$work/$part.o"; then
      echo "FAIL $name: runtime/$part.cc does not compile without warnings"
      failures=$((failures + 1))
      return
    fi
  done
  local bytes
  bytes=$(text_of "$work/run.o" "$work/verify.o")
  echo "$name $bytes bytes"
  if [ "$bytes" -ge $limit ]; then
    echo "FAIL $name: $bytes bytes of code, the limit is $limit"
    failures=$((failures + 1))
  fi
}

hard="-mfloat-abi=hard"
while read -r core target fpu; do
  check "gcc $core" arm-none-eabi-g++ -mcpu="$core" -mthumb $fpu
  if command -v clang++ >/dev/null; then check "clang $core" clang++ --target="$target" -mcpu="$core" -mthumb $fpu; fi
done <<CORES
cortex-m0 thumbv6m-none-eabi
cortex-m0plus thumbv6m-none-eabi
cortex-m3 thumbv7m-none-eabi
cortex-m23 thumbv8m.base-none-eabi
cortex-m4 thumbv7em-none-eabihf $hard -mfpu=fpv4-sp-d16
cortex-m7 thumbv7em-none-eabihf $hard -mfpu=fpv5-d16
cortex-m33 thumbv8m.main-none-eabihf $hard -mfpu=fpv5-sp-d16
cortex-m55 thumbv8.1m.main-none-eabihf $hard
CORES
# GCC 12 does not know the M85; clang does from version 15 on.
for clang in clang++-19 clang++; do
  m85="$clang --target=thumbv8.1m.main-none-eabihf"
  if command -v $clang >/dev/null && $m85 --print-supported-cpus 2>&1 | grep -q cortex-m85; then
    check "clang cortex-m85" $m85 -mcpu=cortex-m85 -mthumb $hard
    break
  fi
done

# The state: corten.h asserts it at compile time for C++; here as C sees it.
cat >"$work/state.c" <<'C'
#include "runtime/corten.h"
_Static_assert(sizeof(corten_model) <= 256, "the state a model needs");
C
for compiler in "arm-none-eabi-gcc -mcpu=cortex-m55 -mthumb -mfloat-abi=hard -ffreestanding" cc; do
  if ! $compiler -std=c99 -Wno-pedantic -Wall -Wextra -Werror -I. -c "$work/state.c" -o "$work/state.o"; then
    echo "FAIL corten.h in C with $compiler"
    failures=$((failures + 1))
  fi
done
[ $failures -eq 0 ] && echo "runtime sizes hold"
exit $((failures != 0))
