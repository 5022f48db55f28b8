#!/usr/bin/env bash
# Prints the notes of a version from CHANGELOG.md: `scripts/release/release-notes.sh 1.2.3`. Fails when there are none.
set -euo pipefail
cd "$(dirname "$0")/../.."

notes=$(awk -v version="$1" '
  /^## / { found = $2 == version || $2 == "[" version "]"; next }
  found
' CHANGELOG.md)
if [ -z "${notes//[[:space:]]/}" ]; then
  echo "CHANGELOG.md: no words in a section ## $1" >&2
  exit 1
fi
echo "$notes"
