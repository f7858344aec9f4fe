#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that scripts/package.sh built in fresh Debian systems, and uses them there. Wants root, debootstrap
# and a mirror of Debian.
#   scripts/try-packages.sh FOLDER [RELEASE...]     RELEASE: 12, 13; default: both. FOLDER gets systems for each.
set -euo pipefail
# shellcheck source=scripts/fresh_system.sh
. "$(dirname "$0")/fresh_system.sh"
source_dir=$(cd "$(dirname "$0")/.." && pwd)
packages=$source_dir/build/package/packages
if (($# == 0)) || [[ $1 == -* ]]; then
  sed -n '3,5s/^# //p' "$0"
  exit 2
fi
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
releases=("$@")
((${#releases[@]} > 0)) || releases=(12 13)
require_debootstrap
samples=/usr/share/lanescope/samples

use_shells() {  # use_shells ROOT: the manual, and what shells offer
  local root=$1
  install_in "$root" man-db bash-completion zsh fish
  inside "$root" sh -c 'man --warnings lanescope-compare | col -b | sed -n "/^NAME/,/^SYN/p"; mandb --quiet; apropos --exact lanescope'
  [[ $(inside "$root" bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader lanescope
    COMP_WORDS=(lanescope compl) COMP_CWORD=1; $(complete -p lanescope | sed "s/.*-F \([^ ]*\).*/\1/"); echo "${COMPREPLY[@]}"') == completions ]] \
    || fail "bash completes nothing"
  [[ $(inside "$root" fish -c 'complete --do-complete "lanescope compl"') == completions* ]] || fail "fish completes nothing"
  [[ $(inside "$root" zsh -c 'autoload -U compinit; compinit -D; echo $_comps[lanescope]') == _lanescope ]] || fail "zsh knows no completion"
  echo "bash, zsh and fish complete"
}

use_libraries() {  # use_libraries ROOT: a program of the user's, by pkg-config
  local root=$1
  mkdir -p "$root/tmp/cpp"
  cp "$source_dir/samples/cpp/predict_step.cpp" "$root/tmp/cpp"
  # shellcheck disable=SC2016
  inside "$root" sh -c 'cd /tmp/cpp && g++ $(pkg-config --cflags lanescope) predict_step.cpp -o predict_step $(pkg-config --libs lanescope) \
    && ./predict_step "$0/graphs/deepconn_dual.pbtxt" "$0/machines/k80x2.json"' $samples
  echo "a program linked to lanescope $(inside "$root" pkg-config --modversion lanescope) runs"
}

for release in "${releases[@]}"; do
  echo "== Debian $release: lanescope_*.deb"
  root=$folder/deb-$release
  fresh_system "$release" "$root"
  cp "$packages"/*.deb "$root/tmp/"
  (cd "$root" && install_in "$root" ./tmp/lanescope_*.deb)
  use_program "$root" lanescope $samples
  if inside "$root" sh -c 'command -v gcc || command -v cc'; then fail "the package brought a compiler"; fi
  use_shells "$root"
  if compgen -G "$packages/lanescope-cuda_*.deb" > /dev/null; then
    echo "== Debian $release: lanescope-cuda_*.deb beside it"
    (cd "$root" && install_in "$root" ./tmp/lanescope-cuda_*.deb)
    inside "$root" lanescope devices
    inside "$root" lanescope run $samples/graphs/polynomial.pbtxt --steps 2
  fi
  echo "== Debian $release: the tarball, in a system without its libraries"
  root=$folder/tarball-$release
  fresh_system "$release" "$root"
  rm -rf "$root/opt"/lanescope-*
  tar -xzf "$packages"/lanescope-*.tar.gz -C "$root/opt"
  prefix=$(cd "$root" && echo opt/lanescope-*)
  use_program "$root" "/$prefix/bin/lanescope" "/$prefix/share/lanescope/samples"
  if (. /etc/os-release && [[ $ID == debian && $VERSION_ID == "$release" ]]); then
    echo "== Debian $release, which the packages were built on: liblanescope-dev_*.deb"
    root=$folder/dev-$release
    fresh_system "$release" "$root"
    cp "$packages"/*.deb "$root/tmp/"
    (cd "$root" && install_in "$root" ./tmp/{lanescope,liblanescope-dev}_*.deb g++ pkgconf)
    use_libraries "$root"
  fi
done
echo "the packages run on Debian ${releases[*]}"
