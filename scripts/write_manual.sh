#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes manual pages, compressed, and completions as they are installed: write_manual.sh LANESCOPE FOLDER
set -euo pipefail
program=$1
folder=$2
mkdir -p "$folder"
rm -rf "$folder/man1"
"$program" manual "$folder/man1" > /dev/null
gzip -9 --no-name "$folder"/man1/*.1
for shell in bash zsh fish; do
  "$program" completions "$shell" > "$folder/$shell"
done
