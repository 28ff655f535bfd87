#!/usr/bin/env bash
# Installs into a scratch prefix and uses what is there from an empty folder, with the source and build trees out of
# sight (mounted over, where a mount namespace can be had), then again after the prefix was moved.
# usage: install_test.sh <cmake> <source tree> <build tree>
set -uo pipefail
cmake=$1
source=$(readlink -f -- "$2")
build=$(readlink -f -- "$3")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

fail() { printf 'FAILED: %s\n' "$*" >&2; failed=$((failed + 1)); }

env -u DESTDIR "$cmake" --install "$build" --prefix "$scratch/a prefix" >"$scratch/log" 2>&1 ||
  { cat "$scratch/log"; fail "cmake --install"; exit 1; }

hide=()
if unshare -rm true 2>/dev/null; then
  # shellcheck disable=SC2016  # expanded inside
  hide=(unshare -rm bash -c 'for d in "$1" "$2"; do [[ ! -d $d ]] || mount -t tmpfs none "$d" || exit 99; done
    [[ -z $(ls -A "$1") ]] || exit 98; shift 2; exec "$@"' hidden "$source" "$build")
else
  echo "note: no mount namespace here, so the source and build trees stay in sight"
fi

contents() { find "$1" -printf '%P %s\n' | sort; }

use() {  # prefix
  local prefix=$1 share=$1/share/assay/configs work
  local assay=$prefix/bin/assay
  work=$(mktemp -d -p "$scratch")
  cd "$work" || exit 1
  contents "$prefix" >"$scratch/before"
  "${hide[@]}" "$assay" --version >/dev/null || fail "--version"
  for machine in "$share"/machines/*.yaml; do
    "${hide[@]}" "$assay" check --peak "$machine" >said 2>err || { cat err; fail "check $machine"; }
  done
  "${hide[@]}" "$assay" run -m "$share/machines/tpu_v1_like.yaml" -w "$share/workloads/resnet18.yaml" --precision int8 \
    -o run >said 2>err || { cat err; fail "run"; }
  grep -q 'twin passed' said || { cat said; fail "run: the twin was not executed"; }
  cat >sweep.yaml <<S
sweep: installed
workloads: ["$share/workloads/resnet18.yaml"]
precision: int8
machines:
- machine: "$share/machines/gemmini_like.yaml"
  axes: {params.spad: [128 KiB, 256 KiB]}
S
  "${hide[@]}" "$assay" sweep sweep.yaml -q >said 2>err || { cat err; fail "sweep"; }
  for report in run/report.html out/installed/report.html; do
    # The charts' library is inside, compressed: without it a report of one run has some ten kB.
    [[ -s $report && $(stat -c %s "$report") -gt 100000 ]] || fail "$report is missing or too small"
  done
  "${hide[@]}" "$assay" report run/result.json -f markdown >said 2>err || { cat err; fail "report"; }
  contents "$prefix" | diff "$scratch/before" - || fail "the prefix was written into"
  cd "$scratch" || exit 1
}

use "$scratch/a prefix"
mkdir "$scratch/elsewhere"
mv "$scratch/a prefix" "$scratch/elsewhere/moved"
use "$scratch/elsewhere/moved"

if ldd "$scratch/elsewhere/moved/bin/assay" | grep -F -e 'not found' -e "$build" -e "$source"; then
  fail "a library is missing, or is taken from the build tree"
fi
for file in share/doc/assay/LICENSE share/doc/assay/NOTICE share/doc/assay/machine-format.md; do
  [[ -s $scratch/elsewhere/moved/$file ]] || fail "$file is not installed"
done
((failed == 0)) && echo "the installed program works where it is put"
exit $((failed != 0))
