#!/usr/bin/env bash
# Installs the Debian packages that building and testing need. Does nothing, and needs no root, when all are there.
#   scripts/install-packages.sh [--fuzz]     --fuzz: and those of scripts/fuzz.sh
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkgconf git python3
  protobuf-compiler libprotobuf-dev libsqlite3-dev zlib1g-dev
  libcli11-dev nlohmann-json3-dev libfmt-dev
  libopenblas-dev libfarmhash-dev
  libimgui-dev libglfw3-dev libegl-dev libgl-dev libpng-dev libjpeg-dev fonts-dejavu-core
  libgtest-dev libgmock-dev libbenchmark-dev openmpi-bin xvfb xdotool
  dpkg-dev file mandoc zsh fish
)

fail() {
  echo "install-packages: $1" >&2
  exit 1
}

command -v dpkg-query > /dev/null || fail "this system has no dpkg; install by hand: ${packages[*]}"

# The format check wants clang-format 14 exactly; Debian 12 is the release that has it.
if (. /etc/os-release && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]]); then
  packages+=(clang-format-14)
fi

# Clang before 16 does not let a lambda have what a structured binding names.
if [[ ${1:-} == --fuzz ]]; then
  packages+=(clang-16 libclang-rt-16-dev)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2> /dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo > /dev/null || fail "missing packages, and neither root nor sudo to install them: ${missing[*]}"
  as_root=(sudo)
fi
apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --option Dpkg::Use-Pty=0)

echo "installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${apt_get[@]}" update > "$log" 2>&1 || {
  cat "$log" >&2
  fail "apt-get update failed (log above); check the package sources and the network"
}
"${apt_get[@]}" install --yes --no-install-recommends "${missing[@]}" > "$log" 2>&1 || {
  cat "$log" >&2
  fail "apt-get install failed (log above) for: ${missing[*]}"
}
