#!/usr/bin/env bash
# qemu.sh CORE ELF [QEMU options]: runs ELF on the board that stands for CORE; the exit code is the program's.
set -u
core=$1 elf=$2
shift 2
case $core in
  cortex-m55 | cortex-m85 | cortex-m52) machine=mps3-an547 ;;
  cortex-m4) machine=mps2-an386 ;;
  cortex-m7) machine=mps2-an500 ;;
  cortex-m33) machine=mps2-an505 ;;
  cortex-m0plus | cortex-m0 | cortex-m23 | cortex-m3) machine=mps2-an385 ;;
  *) echo "qemu.sh: no board for $core" >&2; exit 2 ;;
esac
exec timeout "${CORTEN_QEMU_TIMEOUT:-300}" qemu-system-arm -M $machine -nographic -monitor none -serial none \
  -semihosting-config enable=on,target=native -icount shift=0 -kernel "$elf" "$@"
