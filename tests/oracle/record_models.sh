#!/usr/bin/env bash
# Makes the records in tests/data/onnxruntime again: writes each network with its seeded weights into a scratch folder
# (up to 350 MB), runs it under ONNX Runtime, and keeps what record.mjs keeps of its outputs. Needs `npm ci` in this
# folder and a configured build folder.
# usage: record_models.sh <build folder> [record...]
set -euo pipefail
here=$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")
build=$1
shift
cmake --build "$build" --target seed_model >&2
tool=$build/bin/seed_model
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if (($# == 0)); then
  mapfile -t records < <("$tool" --list)
  set -- "${records[@]}"
fi
for record in "$@"; do
  "$tool" "$record" "$here/../../configs" "$scratch/$record.onnx"
  node "$here/record.mjs" --out "$here/../data/onnxruntime" --seed 1 --samples 200 "$scratch/$record.onnx"
  rm "$scratch/$record.onnx"
done
