# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts that try something in fresh Debian systems: each lies in a folder, made by debootstrap. Wants root and a
# mirror of Debian.
# LANESCOPE_DEBIAN_MIRROR: its URL; default: that of this machine's apt, where it serves Debian, else debootstrap's
# LANESCOPE_TRY_CCACHE: a folder that systems with a network compile through, as a compiler cache; default: none

fail() {
  echo "$(basename "$0" .sh): $1" >&2
  exit 1
}

require_debootstrap() {
  ((EUID == 0)) || fail "debootstrap wants root"
  command -v debootstrap > /dev/null || fail "debootstrap is not installed"
}

debian_mirror() {
  if [[ -n ${LANESCOPE_DEBIAN_MIRROR:-} ]]; then
    echo "$LANESCOPE_DEBIAN_MIRROR"
  else
    # Of archives of its own, of security updates and of other vendors none has all of Debian.
    apt-get indextargets --format '$(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2> /dev/null |
      sed -n 's/^Debian Debian main //p' | sort -u | head -1
  fi
}

# fresh_system RELEASE ROOT: only what every Debian has. Copied from debian-RELEASE beside it, which is made once.
fresh_system() {
  local -A suites=([12]=bookworm [13]=trixie)
  local suite=${suites[$1]:-} base
  [[ -n $suite ]] || fail "unknown release $1"
  base=$(dirname "$2")/debian-$1
  if [[ ! -e $base.made ]]; then
    rm -rf "$base"
    # shellcheck disable=SC2046
    debootstrap --variant=minbase "$suite" "$base" $(debian_mirror) > "$base.log" 2>&1 || { tail -5 "$base.log" >&2; fail "debootstrap failed"; }
    touch "$base.made"
  fi
  rm -rf "$2"
  cp --archive "$base" "$2"
}

# share_network ROOT: the names and the certificates that this machine knows.
share_network() {
  local certificates=/etc/ssl/certs/ca-certificates.crt
  cp /etc/resolv.conf "$1/etc/resolv.conf"
  [[ ! -e $certificates ]] || install -D -m 644 "$certificates" "$1$certificates"
}

# inside [--network] ROOT COMMAND: in the system, with /proc and /dev of its own, and without a network where it is not asked for.
inside() {
  local apart=(--mount --pid --fork --kill-child --net) root cache='' prepare
  if [[ $1 == --network ]]; then
    unset 'apart[4]'
    shift
    share_network "$1"
    cache=${LANESCOPE_TRY_CCACHE:-}
  fi
  root=$1
  shift
  # shellcheck disable=SC2016
  prepare='mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev" && mkdir "$1/dev/shm" && ln -s /proc/self/fd "$1/dev/fd" \
    && mknod -m 666 "$1/dev/null" c 1 3 && mknod -m 666 "$1/dev/zero" c 1 5 && mknod -m 444 "$1/dev/urandom" c 1 9 || exit
    if [[ -n $0 ]]; then
      mkdir -p "$1/ccache" && mount --bind "$0" "$1/ccache" && export CCACHE_DIR=/ccache || exit
    fi
    exec chroot "$@"'
  unshare "${apart[@]}" bash -c "$prepare" "$cache" "$root" "$@"
}

# install_in ROOT PACKAGE...: by apt, which says nothing where all goes well.
install_in() {
  local root=$1
  shift
  inside --network "$root" sh -c 'apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@"' \
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
