#!/bin/sh
# Unpacks case files and hands them to the runner.
#
# usage: run_cases.sh RUNNER FILE.jsonl.gz...
#
# Exit status: the runner's; 77, which ctest takes for skipped, when no file is there.
set -eu
runner=$1
shift
for file in "$@"; do
  if [ ! -f "$file" ]; then
    echo "no recorded cases at $file"
    exit 77
  fi
done
gzip -dc "$@" | "$runner"
