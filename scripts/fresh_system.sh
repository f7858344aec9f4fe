# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts that try something in fresh Debian systems: each lies in a folder, made by debootstrap. Wants root and a
# mirror of Debian.

fail() {
  echo "$(basename "$0" .sh): $1" >&2
  exit 1
}

require_debootstrap() {
  ((EUID == 0)) || fail "debootstrap wants root"
  command -v debootstrap > /dev/null || fail "debootstrap is not installed"
}

# fresh_system RELEASE ROOT: only what every Debian has, and this machine's network; made once.
fresh_system() {
  local -A suites=([12]=bookworm [13]=trixie)
  local suite=${suites[$1]:-}
  [[ -n $suite ]] || fail "unknown release $1"
  if [[ ! -e $2/etc/debian_version ]]; then
    debootstrap --variant=minbase "$suite" "$2" > "$2.log" 2>&1 || { tail -5 "$2.log" >&2; fail "debootstrap failed"; }
  fi
  cp /etc/resolv.conf "$2/etc/resolv.conf"
}

# inside [--network] ROOT COMMAND: in the system, with /proc and /dev of its own, and without a network where it is not asked for.
inside() {
  local apart=(--mount --pid --fork --kill-child --net) root
  if [[ $1 == --network ]]; then
    unset 'apart[4]'
    shift
  fi
  root=$1
  shift
  unshare "${apart[@]}" bash -c '
    mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/dev" && mkdir "$0/dev/shm" && ln -s /proc/self/fd "$0/dev/fd" \
      && mknod -m 666 "$0/dev/null" c 1 3 && mknod -m 666 "$0/dev/zero" c 1 5 && mknod -m 444 "$0/dev/urandom" c 1 9 \
      && exec chroot "$0" "$@"' "$root" "$@"
}

# install_in ROOT PACKAGE...: by apt, which says nothing where all goes well.
install_in() {
  local root=$1
  shift
  inside --network "$root" sh -c 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --reinstall "$@"' \
    apt "$@" > "$root.apt.log" 2>&1 || { tail -20 "$root.apt.log" >&2; fail "apt-get install failed"; }
}

use_program() {  # use_program ROOT PROGRAM SAMPLES
  local root=$1 program=$2 samples=$3
  inside "$root" "$program" --version
  inside "$root" "$program" compare "$samples/graphs/polynomial.pbtxt:single,alternating" --rounds 2 --steps 20 --trace /tmp/t.db
  inside "$root" "$program" run "$samples/graphs/deepconn_single.pbtxt" --steps 2
  inside "$root" "$program" simulate "$samples/graphs/deepconn_dual.pbtxt" --machine "$samples/machines/k80x2.json" > /dev/null
  inside "$root" "$program" summary /tmp/t.db > /dev/null
}
