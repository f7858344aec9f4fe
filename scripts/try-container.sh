#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Carries out the Containerfile where there is no container engine: its stages one by one in fresh Debian systems, then the
# program of the last. Wants root, debootstrap and a mirror of Debian.
#   scripts/try-container.sh FOLDER     FOLDER gets a system for each stage.
set -euo pipefail
# shellcheck source=scripts/fresh_system.sh
. "$(dirname "$0")/fresh_system.sh"
source_dir=$(cd "$(dirname "$0")/.." && pwd)
if (($# != 1)) || [[ $1 == -* ]]; then
  sed -n '3,5s/^# //p' "$0"
  exit 2
fi
folder=$(mkdir -p "$1" && cd "$1" && pwd)
require_debootstrap

declare -A roots  # of stages with a name
number=0 root='' workdir=/ entry=''

begin_stage() {  # begin_stage IMAGE [as NAME]
  [[ $1 =~ ^debian:([0-9]+)(-slim)?$ ]] || fail "the Containerfile begins a stage from $1"
  root=$folder/stage-$((++number)) workdir=/
  fresh_system "${BASH_REMATCH[1]}" "$root"
  # A slim image takes no documents.
  [[ -z ${BASH_REMATCH[2]} ]] || printf 'path-exclude /usr/share/%s/*\n' doc man > "$root/etc/dpkg/dpkg.cfg.d/docker"
  [[ -z ${3:-} ]] || roots[$3]=$root
}

copy() {  # copy [--from=STAGE] SOURCE TARGET
  local from=$source_dir ignored=()
  if [[ $1 == --from=* ]]; then
    from=${roots[${1#--from=}]}
    shift
  fi
  mkdir -p "$root$2"
  if [[ $1 == . ]]; then
    mapfile -t ignored < "$from/.dockerignore"
    tar -C "$from" "${ignored[@]/#/--exclude=./}" -cf - . | tar -C "$root$2" -xf -
  else
    # shellcheck disable=SC2086
    cp -r "$from"/$1 "$root$2"
  fi
}

while IFS= read -r -u 3 line; do
  [[ $line != '#'* && -n $line ]] || continue
  echo "== $line"
  rest=${line#* }
  # shellcheck disable=SC2086
  case ${line%% *} in
    FROM) begin_stage $rest ;;
    COPY) copy $rest ;;
    WORKDIR) workdir=$rest && mkdir -p "$root$rest" ;;
    RUN) inside --network "$root" sh -c "cd $workdir && $rest" ;;
    ENTRYPOINT) entry=$(tr -d '[],"' <<< "$rest") ;;
    *) fail "the Containerfile says what this script does not know: $line" ;;
  esac
done 3< <(sed -e ':line; /\\$/{N; s/\\\n//; b line}' "$source_dir/Containerfile")

echo "== the image, with samples as what is mounted at $workdir"
cp -r "$source_dir/samples/graphs" "$source_dir/samples/machines" "$root$workdir"
use_program "$root" "$entry" "$workdir"
echo "the image is $(du -sh "$root" | cut -f1), in $root"
