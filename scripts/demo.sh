#!/usr/bin/env bash
# demo.sh: sets up, builds, compiles a digits CNN for cortex-m55 and runs it on the emulated board.
# demo.sh MODEL.pt2 CALIB.npz [TARGET]: the same for your own model (no labels: agreement with float32 instead of accuracy).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
if [ $# = 1 ] || [ $# -gt 3 ]; then
  echo "usage: scripts/demo.sh [MODEL.pt2 CALIB.npz [TARGET]]" >&2
  exit 2
fi
model=${1:-$here/examples/digits/digits_cnn.pt2}
calib=${2:-$here/examples/digits/calib.npz}
target=${3:-cortex-m55}
data=$calib
[ $# -gt 0 ] || data=$here/examples/digits/eval.npz

"$here/scripts/setup.sh" build
build_log=$here/build/demo-build.log
mkdir -p "$here/build"
echo "building corten (log: $build_log)"
if ! { (cd "$here" && cmake --preset release && cmake --build --preset release) >"$build_log" 2>&1; }; then
  tail -20 "$build_log" >&2
  exit 1
fi
corten=$here/build/release/bin/corten

name=$(basename "$model" .pt2)
out=$here/build/demo/$name-$target
echo "compiling $model for $target"
"$corten" compile "$model" --target "$target" --calibrate "$calib" -o "$out"
echo "comparing float32, int8 on the host and int8 on the emulated board (samples of $data)"
"$corten" compare "$model" "$out/model.corten" --data "$data" --json >"$out/compare.json"
"$corten" run "$out/model.corten" --input "$data" --on host --output "$out/host.npz"
"$corten" run "$out/model.corten" --input "$data" --on qemu --output "$out/board.npz"
"$corten" bench "$out/model.corten" --on qemu --json >"$out/bench.json"
python3 "$here/scripts/demo_summary.py" "$out" "$data"
