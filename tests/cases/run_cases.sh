#!/bin/sh
# Unpacks case files and passes them to the runner.
#
# usage: run_cases.sh RUNNER FILE.jsonl.gz...
#
# Exit status: the runner's; 77 (ctest: skipped) if no file exists.
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
