#!/usr/bin/env bash
# run.sh BUILD ONNX_PACKAGE POCKETFFT_HEADERS MODEL: builds and runs the consumer in both ways, in
# build/consumer.
# Closes with a line "N passed, N failed".
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(dirname "$(dirname "$here")")"
build="$1" onnx="$2" pocketfft="$3" model="$4"
work="$root/build/consumer"
passed=0 failed=0

try() {
  local name="$1" log="$work/$1.log"
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "consumer by $name failed (log: $log)"
    tail -n 20 "$log"
  fi
}

by_find_package() {
  rm -rf "$work/prefix" "$work/installed" &&
    cmake --install "$build" --prefix "$work/prefix" &&
    cmake -G Ninja -S "$here" -B "$work/installed" -DCMAKE_PREFIX_PATH="$work/prefix;$onnx" &&
    cmake --build "$work/installed" && "$work/installed/consumer" "$model"
}

by_add_subdirectory() {
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake -G Ninja -S "$here" -B "$work/subdirectory" "${launcher[@]}" -DONNX_RUN_DIR="$root" \
    -DCMAKE_PREFIX_PATH="$onnx" -DPOCKETFFT_INCLUDE_DIR="$pocketfft" &&
    cmake --build "$work/subdirectory" --target consumer && "$work/subdirectory/consumer" "$model"
}

mkdir -p "$work"
try find_package by_find_package
try add_subdirectory by_add_subdirectory
echo "$passed passed, $failed failed"
((failed == 0))
