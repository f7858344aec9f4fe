#!/usr/bin/env bash
# Installs the packages that scripts/package.sh built in fresh Debian systems, and uses them there. Wants root, debootstrap
# and a mirror of Debian.
#   scripts/try-packages.sh FOLDER [RELEASE...]     RELEASE: 12, 13; default: both. FOLDER gets a system for each.
set -euo pipefail
packages=$(cd "$(dirname "$0")/../build/package/packages" && pwd)
if (($# == 0)) || [[ $1 == -* ]]; then
  sed -n '2,4s/^# //p' "$0"
  exit 2
fi
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
releases=("$@")
((${#releases[@]} > 0)) || releases=(12 13)
declare -A suites=([12]=bookworm [13]=trixie)

fail() {
  echo "try-packages: $1" >&2
  exit 1
}
((EUID == 0)) || fail "debootstrap wants root"
command -v debootstrap > /dev/null || fail "debootstrap is not installed"

# fresh_system SUITE ROOT: only what every Debian has; made once.
fresh_system() {
  [[ -e $2/etc/debian_version ]] && return
  debootstrap --variant=minbase "$1" "$2" > "$2.log" 2>&1 || { tail -5 "$2.log" >&2; fail "debootstrap failed"; }
}

# inside ROOT COMMAND: in the system, without a network, with /proc and /dev of its own.
inside() {
  local root=$1
  shift
  unshare --mount --net --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev" && mknod -m 666 "$0/dev/null" c 1 3 \
      && mknod -m 444 "$0/dev/urandom" c 1 9 && mkdir "$0/dev/shm" && exec chroot "$0" "$@"' "$root" "$@"
}

use_program() {  # use_program ROOT PROGRAM SAMPLES
  local root=$1 program=$2 samples=$3
  inside "$root" "$program" --version
  inside "$root" "$program" compare "$samples/graphs/polynomial.pbtxt:single,alternating" --rounds 2 --steps 20 --trace /tmp/t.db
  inside "$root" "$program" run "$samples/graphs/deepconn_single.pbtxt" --steps 2
  inside "$root" "$program" simulate "$samples/graphs/deepconn_dual.pbtxt" --machine "$samples/machines/k80x2.json" > /dev/null
  inside "$root" "$program" summary /tmp/t.db > /dev/null
}

for release in "${releases[@]}"; do
  suite=${suites[$release]:-}
  [[ -n $suite ]] || fail "unknown release $release"
  echo "== Debian $release: lanescope_*.deb"
  root=$folder/deb-$release
  fresh_system "$suite" "$root"
  cp "$packages"/lanescope_*.deb "$root/tmp/"
  # The network of this machine, for apt alone.
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  chroot "$root" sh -c 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends /tmp/lanescope_*.deb' \
    > "$root.apt.log" 2>&1 || { tail -20 "$root.apt.log" >&2; fail "apt-get install failed"; }
  use_program "$root" lanescope /usr/share/lanescope/samples
  if inside "$root" sh -c 'command -v gcc || command -v cc'; then fail "the package brought a compiler"; fi
  echo "== Debian $release: the tarball, in a system without its libraries"
  root=$folder/tarball-$release
  fresh_system "$suite" "$root"
  rm -rf "$root/opt"/lanescope-*
  tar -xzf "$packages"/lanescope-*.tar.gz -C "$root/opt"
  prefix=$(cd "$root" && echo opt/lanescope-*)
  use_program "$root" "/$prefix/bin/lanescope" "/$prefix/share/lanescope/samples"
done
echo "the packages run on Debian ${releases[*]}"
