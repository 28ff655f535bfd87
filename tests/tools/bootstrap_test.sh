#!/usr/bin/env bash
# Tests the bootstrap script in a made-up checkout whose tools are stand-ins that write down how they were called.
# usage: bootstrap_test.sh <path of ./assay>
set -uo pipefail
unset ASSAY_PACKAGES

script_under_test=$(readlink -f -- "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree="$scratch/a checkout with spaces"
tools=$scratch/tools
calls=$scratch/calls
passed=0 failed=0

stand_in() {  # name; body on stdin
  { printf '#!/bin/bash\nprintf "%%s\\n" "%s $*" >>"%s"\n' "$1" "$calls"; cat; } >"$tools/$1"
  chmod +x "$tools/$1"
}

fresh_tree() {
  rm -rf "$tree" "$tools" "$calls"
  mkdir -p "$tree"/{core,workloads,hwmodels,explorers,reports,cmake,tests,configs} "$tools"
  cp "$script_under_test" "$tree/assay"
  printf 'build liba\nbuild libb\ntest testdata\nfull browser\nnode nodejs\nnode npm\n' >"$tree/cmake/packages.txt"
  touch "$tree/CMakeLists.txt" "$tree/CMakePresets.json" "$tree/core/a.cpp" "$tree/tests/t.cpp" "$tree/configs/m.yaml"
  find "$tree" -exec touch -d '1 hour ago' {} +
  : >"$calls"
  printf 'liba\nlibb\ntestdata\nbrowser\n' >"$scratch/installed"

  stand_in dpkg-query <<'T'
for p in "${@:3}"; do grep -qx "$p" "$SCRATCH/installed" && echo "$p installed"; done
exit 0
T
  stand_in apt-get <<'T'
[[ " $* " == *" update "* ]] && { touch "$SCRATCH/updated"; exit 0; }
[[ -e $SCRATCH/apt_broken ]] && { echo "E: broken mirror"; exit 100; }
[[ -e $SCRATCH/needs_update && ! -e $SCRATCH/updated ]] && exit 100
for p in "${@:2}"; do echo "$p" >>"$SCRATCH/installed"; done
T
  stand_in id <<'T'
cat "$SCRATCH/uid"
T
  stand_in sudo <<'T'
[[ -e $SCRATCH/sudo_works ]] || { echo "sudo: a password is required" >&2; exit 1; }
shift; exec "$@"
T
  stand_in node <<'T'
echo "v${NODE_MAJOR:-20}.1.0"
T
  stand_in npm <<'T'
mkdir -p node_modules && touch node_modules/.package-lock.json
T
  stand_in cmake <<'T'
[[ -e $SCRATCH/cmake_broken ]] && { echo "CMake Error: no such package"; exit 1; }
mkdir -p "$2/build/release"; touch "$2/build/release/build.ninja"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$2" >"$2/build/release/CMakeCache.txt"
T
  stand_in ninja <<'T'
echo "[1/2] Building"
[[ -e $SCRATCH/ninja_broken ]] && { echo "FAILED: a.o"; echo "a.cpp:3: error: nonsense"; exit 1; }
[[ -e $SCRATCH/slow ]] && sleep 1
mkdir -p "$2/bin"
cat >"$2/bin/assay" <<'P'
#!/bin/bash
echo "program in $PWD:"; printf '<%s>' "$@"; echo
[[ ${1-} == read ]] && cat
exit "${EXIT_WITH:-0}"
P
chmod +x "$2/bin/assay"
T
  stand_in ctest <<'T'
echo "ctest ran"
T
  echo 0 >"$scratch/uid"
  rm -f "$scratch"/{apt_broken,needs_update,updated,sudo_works,cmake_broken,ninja_broken,slow}
}

# Runs the script with the stand-ins first in the path; leaves $out, $err and $code.
run() {
  : >"$calls"
  out=$(cd "${from:-$scratch}" && SCRATCH=$scratch PATH=$tools:$PATH "${entry:-$tree/assay}" "$@" 2>"$scratch/err" </dev/null)
  code=$?
  err=$(<"$scratch/err")
}

check() {  # description, then a test command
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s (%s)\n  exit %s\n  stdout: %s\n  stderr: %s\n  calls: %s\n' "$what" "$*" "$code" "$out" "$err" \
      "$(tr '\n' ';' <"$calls")"
  fi
}
equal() { [[ $1 == "$2" ]]; }
called() { grep -q -- "^$1" "$calls"; }
not_called() { ! called "$1"; }
says() { [[ $err == *"$1"* ]]; }

# --- the first run builds, the second starts at once
fresh_tree
run check 'a b' ''
check "passes arguments through unchanged" equal "$out" "program in $scratch:"$'\n'"<check><a b><>"
check "configures with the release preset" called "cmake -S $tree --preset release"
check "builds the program only" called "ninja -C $tree/build/release -j [0-9]* assay_cli"
check "installs nothing when nothing is missing" not_called apt-get
run check
check "a second run calls no tool at all" equal "$(cat "$calls")" ""
check "a second run says nothing of its own" equal "$err" ""
sleep 0.02; touch "$tree/configs/m.yaml"; run check
check "editing a description does not rebuild" not_called ninja
sleep 0.02; touch "$tree/core/a.cpp"; run check
check "editing a source rebuilds" called ninja
check "a rebuild does not configure again" not_called cmake
check "a rebuild does not ask for packages" not_called dpkg-query
sleep 0.02; rm "$tree/core/a.cpp"; run check
check "removing a source rebuilds" called ninja
EXIT_WITH=7 run check
check "the program's exit code is passed on" equal "$code" 7
out=$(cd "$scratch" && echo data | SCRATCH=$scratch PATH=$tools:$PATH "$tree/assay" read)
check "the program gets standard input" equal "${out##*$'\n'}" data

# --- entry through a symlink, another folder, a moved checkout
fresh_tree
mkdir -p "$scratch/else where"; ln -sf "$tree/assay" "$scratch/else where/link"
entry="$scratch/else where/link" from="$scratch/else where" run x
check "works as a symlink, in the caller's folder" equal "$out" "program in $scratch/else where:"$'\n'"<x>"
sed -i 's|=.*|=/elsewhere|' "$tree/build/release/CMakeCache.txt"; sleep 0.02; touch "$tree/core"; run x
check "a build folder made elsewhere is configured anew" called cmake

# --- packages
fresh_tree; sed -i '/libb/d' "$scratch/installed"; touch "$scratch/needs_update"
run x
check "root installs what is missing" called "apt-get .*install --no-install-recommends libb$"
check "the index is updated where the first try fails" called "apt-get .*update"
check "and goes on to the program" equal "$code" 0
fresh_tree; sed -i '/libb/d' "$scratch/installed"
run x
check "no index update where it is not needed" not_called "apt-get .*update"
fresh_tree; sed -i '/liba/d' "$scratch/installed"; echo 1000 >"$scratch/uid"
run x
check "without root and sudo: its own exit code" equal "$code" 90
check "and the one command to run" says "sudo apt-get install -y --no-install-recommends liba"
check "and no build" not_called ninja
check "and nothing on stdout" equal "$out" ""
touch "$scratch/sudo_works"; run x
check "sudo that asks nothing is used" called "sudo -n apt-get .*liba"
fresh_tree; sed -i '/liba/d' "$scratch/installed"; touch "$scratch/apt_broken"
run x
check "a failed installation has the packages' exit code" equal "$code" 90
check "and shows apt-get's words" says "E: broken mirror"
fresh_tree
NODE_MAJOR=16 run x
check "an old node is replaced" called "apt-get .*install .*nodejs npm"
fresh_tree; mkdir "$tree/reports/web"; touch "$tree/reports/web/package-lock.json"
run x
check "the chart library is installed from the lock file" called "npm ci --ignore-scripts"
sleep 0.02; touch "$tree/reports/a.cpp"; run x
check "and not a second time" not_called npm

# --- failures of the build
fresh_tree; touch "$scratch/ninja_broken"
run x
check "a failed build has its exit code" equal "$code" 91
check "and shows the compiler's words" says "a.cpp:3: error: nonsense"
check "without the lines before" equal "$(grep -c 'Building' <<<"$err")" 0
rm "$scratch/ninja_broken"; run x
check "and is tried again" equal "$code" 0
fresh_tree; touch "$scratch/cmake_broken"
run x
check "a failed configuration has the build's exit code" equal "$code" 91
check "and shows CMake's words" says "CMake Error: no such package"

# --- tests
fresh_tree
run test -R 'a b'
check "test builds everything" called "ninja .* all$"
check "test runs the quick label with the user's arguments" called "ctest .*-L \^quick\$ -R a b"
check "no test at all is an error" called "ctest .*--no-tests=error"
run test
check "a second test run does not build" not_called ninja
run x
check "the program is then up to date, too" not_called ninja
run test --full
check "the long tier has no label filter" not_called "ctest .*-L"
check "the long tier looks for its packages" called "dpkg-query .*browser"
run test
check "the quick tests are up to date after the long tier" not_called ninja
ASSAY_PACKAGES=lint run test
check "a further group is looked for" called dpkg-query

# --- two at once
fresh_tree; touch "$scratch/slow"; : >"$calls"
(cd "$scratch" && SCRATCH=$scratch PATH=$tools:$PATH "$tree/assay" one >/dev/null 2>&1) &
first=$!
sleep 0.4
code=0 out='' err=''
(cd "$scratch" && SCRATCH=$scratch PATH=$tools:$PATH "$tree/assay" two >/dev/null 2>"$scratch/err")
wait "$first"
err=$(<"$scratch/err")
check "two at once build once" equal "$(grep -c '^ninja' "$calls")" 1
check "and the second says why it waits" says "waiting for another build"

printf '%s passed, %s failed\n' "$passed" "$failed"
((failed == 0))
