#!/usr/bin/env bash
# Checks the format of every source against .clang-format. Skipped (77) without clang-format 14, whose
# layout the sources have.
#
# usage: format_test.sh PROJECT_FOLDER
set -euo pipefail
cd "$1"
for tool in clang-format-14 clang-format; do
  "$tool" --version 2>/dev/null | grep -q 'version 14\.' && break
  tool=
done
if [ -z "$tool" ]; then
  echo "skipped: clang-format 14 is not installed"
  exit 77
fi
find core formats cli tests -name '*.h' -o -name '*.cc' | sort |
  xargs "$tool" --dry-run --Werror --ferror-limit=1
