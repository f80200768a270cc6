#!/usr/bin/env bash
# test.sh: sets up, builds and runs every test. The last line is the sum: "N passed, N failed". Exit code 0 only if nothing failed.
# test.sh STEP...: only these steps (checks asan cortex-m0plus cortex-m3 cortex-m4 cortex-m55 python).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
scripts/setup.sh test || { echo "0 passed, 1 failed"; exit 1; }
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(checks asan cortex-m0plus cortex-m3 cortex-m4 cortex-m55 python)
jobs=$(nproc)
# What was compiled for one tree, in another folder, or for the package serves all.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CXX=${CXX:-g++}
logs=build/test-logs
mkdir -p $logs
passed=0 failed=0

count() {  # count NAME PASSED FAILED LOG SECONDS
  passed=$((passed + $2)) failed=$((failed + $3))
  printf '%-14s %5d passed, %d failed  (%d s, %s)\n' "$1" "$2" "$3" "$5" "$4"
  if [ "$3" -gt 0 ]; then
    grep -E '^(FAILED|ERROR) |\*\*\*Failed|\*\*\*Timeout|error:' "$4" | head -40 | sed 's/^/    /'
    tail -30 "$4" | sed 's/^/    /'
  fi
}

check() {  # check NAME COMMAND...: one test
  local name=$1 log=$logs/$1.log start=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then count "$name" 1 0 "$log" $((SECONDS - start)); else count "$name" 0 1 "$log" $((SECONDS - start)); fi
}

build() {  # build PRESET: a build that fails is a test that failed
  local log=$logs/build-$1.log start=$SECONDS
  if { cmake --preset "$1" && cmake --build --preset "$1" -j "$jobs"; } >"$log" 2>&1; then
    count "build $1" 1 0 "$log" $((SECONDS - start))
  else
    count "build $1" 0 1 "$log" $((SECONDS - start))
    return 1
  fi
}

run_ctest() {  # run_ctest PRESET: counts the tests of the build; none at all is a failure
  local log=$logs/ctest-$1.log start=$SECONDS summary bad=1 all=0
  ctest --test-dir "build/$1" --output-on-failure -j "$jobs" --timeout 900 >"$log" 2>&1
  # "94% tests passed, 1 tests failed out of 17"; newer CMake leaves the middle out where nothing failed
  summary=$(grep -E '[0-9]+% tests passed.* out of [0-9]+' "$log" | tail -1)
  if [[ $summary =~ out\ of\ ([0-9]+) ]]; then
    all=${BASH_REMATCH[1]} bad=0
    [[ $summary =~ ([0-9]+)\ tests?\ failed ]] && bad=${BASH_REMATCH[1]}
  fi
  [ "$all" -gt 0 ] || bad=1 all=1
  count "$1" $((all - bad)) "$bad" "$log" $((SECONDS - start))
}

run_pytest() {
  local log=$logs/python.log start=$SECONDS code summary good bad errors
  build/venv/bin/python -m pytest test/python -n "$jobs" --dist loadfile </dev/null >"$log" 2>&1
  code=$?
  summary=$(grep -E '^(=+ )?[0-9]+ (passed|failed|skipped|errors?).* in [0-9.]+s' "$log" | tail -1)
  good=$(grep -oE '[0-9]+ passed' <<<"$summary" | cut -d' ' -f1)
  bad=$(grep -oE '[0-9]+ failed' <<<"$summary" | cut -d' ' -f1)
  errors=$(grep -oE '[0-9]+ errors?' <<<"$summary" | cut -d' ' -f1)
  bad=$((${bad:-0} + ${errors:-0}))
  # pytest's own verdict stands: no test at all, or a crash, is a failure too.
  [ $code = 0 ] && [ "${good:-0}" -gt 0 ] || [ $bad -gt 0 ] || bad=1
  count python "${good:-0}" $bad "$log" $((SECONDS - start))
  grep -E '^SKIPPED' "$log" | sed 's/^/    /'
}

for step in "${steps[@]}"; do
  case $step in
    checks)
      check includes python3 tools/check_includes.py
      check lines python3 tools/check_lines.py
      check format tools/format.sh --check
      ;;
    python) if build release; then check package build/venv/bin/pip install --disable-pip-version-check .; run_pytest; check bench python3 bench/run.py networks --check; fi ;;
    asan | cortex-*) if build "$step"; then run_ctest "$step"; fi ;;
    *) echo "test.sh: no step $step" >&2; exit 2 ;;
  esac
done
echo "total $SECONDS s"
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
