#!/usr/bin/env bash
# Installs what is missing: `setup.sh build` what building and the emulated boards need, `setup.sh test` what the tests need besides.
# Debian's packages come by apt-get (as root, or by sudo), Python's by pip into build/venv. Nothing missing: no work, no network.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "setup: $*" >&2
  exit 1
}

# Each row: the Debian package, then a command or a file that shows it is there.
build_packages=(
  "g++ g++" "cmake cmake" "ninja-build ninja" "pkg-config pkg-config" "ccache ccache"
  "libzip-dev /usr/include/zip.h" "nlohmann-json3-dev /usr/include/nlohmann/json.hpp" "libcli11-dev /usr/include/CLI/CLI.hpp"
  "libfmt-dev /usr/include/fmt/core.h"
  "gcc-arm-none-eabi arm-none-eabi-g++" "libnewlib-arm-none-eabi /usr/lib/arm-none-eabi/newlib/nano.specs"
  "libstdc++-arm-none-eabi-newlib /usr/lib/arm-none-eabi/newlib/libstdc++_nano.a" "qemu-system-arm qemu-system-arm" "python3 python3"
  "python3-dev python3-config"
)
test_packages=(
  "git git" "make make" "doctest-dev /usr/include/doctest/doctest.h" "clang clang++" "clang-19 clang++-19" "clang-format clang-format"
  "chromium chromium" "chromium-driver chromedriver" "espeak-ng espeak-ng" "zsh zsh" "fish fish"
)

missing() {  # missing ROW...: prints the packages whose command or file is not there
  local row package sign
  for row in "$@"; do
    read -r package sign <<<"$row"
    case $sign in
      /*) [ -e "$sign" ] || echo "$package" ;;
      *) command -v "$sign" >/dev/null || echo "$package" ;;
    esac
  done
}

install_packages() {  # install_packages PACKAGE...
  local root=()
  command -v apt-get >/dev/null || fail "please install, by your system's means: $* (the names are Debian's)"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "please install as root: apt-get install $*"
    root=(sudo)
  fi
  echo "setup: installing by apt-get: $*"
  local log=build/setup-apt.log
  mkdir -p build
  export DEBIAN_FRONTEND=noninteractive
  "${root[@]}" apt-get update >"$log" 2>&1 </dev/null &&
    "${root[@]}" apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1 </dev/null ||
    fail "apt-get could not install $*; the end of $log:
$(tail -5 "$log")"
}

require() {  # require ROW...: installs what is missing
  local packages
  packages=$(missing "$@")
  # shellcheck disable=SC2086  # one word per package
  [ -z "$packages" ] || install_packages $packages
}

version_at_least() {  # version_at_least WANTED FOUND
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]
}

check_versions() {
  local cmake gcc
  cmake=$(cmake --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  version_at_least 3.22 "$cmake" || fail "cmake $cmake is too old; 3.22 or later is needed"
  gcc=$(arm-none-eabi-g++ -dumpversion)
  version_at_least 12 "$gcc" || fail "arm-none-eabi-g++ $gcc is too old; 12 or later is needed (cortex-m55)"
}

require_venv_module() {  # Debian has it in a package of its own, without a command or file to tell by
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
}

require_venv() {  # require_venv REQUIREMENTS: build/venv holds exactly what the file pins
  local stamp=build/venv/requirements.installed python
  cmp -s "$1" "$stamp" && [ -x build/venv/bin/python ] && return
  python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  version_at_least 3.11 "$python" || fail "python3 is $python; 3.11 or later is needed"
  echo "setup: installing into build/venv: $(grep -v '^#' "$1" | tr '\n' ' ')"
  mkdir -p build
  [ -x build/venv/bin/python ] || python3 -m venv --clear build/venv || fail "python3 -m venv build/venv failed"
  build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$1" >build/setup-pip.log 2>&1 </dev/null ||
    fail "pip could not install $1; the end of build/setup-pip.log:
$(tail -5 build/setup-pip.log)"
  cp "$1" "$stamp"
}

case ${1:-build} in
  build)
    require "${build_packages[@]}"
    require_venv_module
    check_versions
    ;;
  test)
    require "${build_packages[@]}" "${test_packages[@]}"
    require_venv_module
    check_versions
    require_venv test/requirements.txt
    ;;
  *)
    echo "usage: scripts/setup.sh build|test" >&2
    exit 2
    ;;
esac
