#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that building needs. Does nothing, and needs no root, when all are there.
#   scripts/install-packages.sh [--tests|--fuzz]
#     --tests: and those that tests run. A browser without a display, which one test opens a report in, is installed where the
#              release has one and that works; where it does not, a line says so, and the test that it is skipped
#     --fuzz:  and those of scripts/fuzz.sh
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkgconf git python3
  protobuf-compiler libprotobuf-dev libsqlite3-dev zlib1g-dev libsimdjson-dev
  libcli11-dev nlohmann-json3-dev libfmt-dev
  libopenblas-dev libfarmhash-dev
  libimgui-dev libglfw3-dev libegl-dev libgl-dev libpng-dev libjpeg-dev fonts-dejavu-core
  libgtest-dev libgmock-dev libbenchmark-dev
  dpkg-dev file
)

fail() {
  echo "install-packages: $1" >&2
  exit 1
}

command -v dpkg-query > /dev/null || fail "this system has no dpkg; install by hand: ${packages[*]}"

case ${1:-} in
  "") ;;
  --tests) packages+=(python3-venv openmpi-bin xvfb xdotool mandoc zsh fish) ;;
  # Clang before 16 does not let a lambda have what a structured binding names.
  --fuzz) packages+=(clang-16 libclang-rt-16-dev) ;;
  *) fail "unknown option $1; usage: scripts/install-packages.sh [--tests|--fuzz]" ;;
esac

# The format check wants clang-format 14 exactly; Debian 12 is the release that has it.
if [[ ${1:-} == --tests ]] && (. /etc/os-release && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]]); then
  packages+=(clang-format-14)
fi

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2> /dev/null || true) == installed ]]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

browser=chromium-headless-shell
has_browser=true  # or needs none
[[ ${1:-} != --tests ]] || is_installed chromium || is_installed $browser || has_browser=false
without_browser() {
  echo "without $browser ($1): the test that opens a report in a browser is SKIPPED"
  exit 0
}

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo > /dev/null; then
    ((${#missing[@]} == 0)) || fail "missing packages, and neither root nor sudo to install them: ${missing[*]}"
    $has_browser || without_browser "neither root nor sudo to install it"
    exit 0
  fi
  as_root=(sudo)
fi
apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --option Dpkg::Use-Pty=0)

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ((${#missing[@]} > 0)); then
  echo "installing: ${missing[*]}"
  "${apt_get[@]}" update > "$log" 2>&1 || {
    cat "$log" >&2
    fail "apt-get update failed (log above); check the package sources and the network"
  }
  "${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}" > "$log" 2>&1 || {
    cat "$log" >&2
    fail "apt-get install failed (log above) for: ${missing[*]}"
  }
fi

$has_browser && exit 0
candidate=$(apt-cache policy $browser 2> /dev/null | sed -n 's/^ *Candidate: *//p')
[[ -n $candidate && $candidate != "(none)" ]] || without_browser "this release has none"
echo "installing: $browser"
timeout 300 "${apt_get[@]}" install --yes --no-install-recommends $browser > "$log" 2>&1 ||
  without_browser "$(tail -n 1 "$log")"
