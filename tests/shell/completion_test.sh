#!/bin/bash
# Completes command lines in bash as with the tab key, and in fish if it is installed (zsh: zsh_test.py).
# The man page must go through groff without a warning.
#
# usage: completion_test.sh CLEAVE      exit status 1 when something else is offered
cleave=$1
failed=0

expect() {  # line, words that must be offered
  read -ra COMP_WORDS <<<"$1"
  [[ $1 == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _cleave
  if [[ ${COMPREPLY[*]} != "$2" ]]; then
    echo "after \"$1\": offered \"${COMPREPLY[*]}\", not \"$2\""
    failed=1
  fi
}

# shellcheck disable=SC2317  # the script that is sourced calls it
complete() { :; }
# shellcheck disable=SC1090  # there is no file to follow
source <("$cleave" help bash)
expect 'cleave prev' 'preview'
expect 'cleave --vers' '--version'
expect 'cleave preview --log-level ' 'error warning info debug'
expect 'cleave preview m.onnx --start ' 'reference cpu acc fewest'
expect 'cleave preview m.onnx --start f' 'fewest'
expect 'cleave advise m.onnx --go' '--goal'
expect 'cleave advise --goal q' 'qps'
expect 'cleave check m.onnx --min coverage-' 'coverage-flops= coverage-params='
expect 'cleave preview m.onnx -s ' ''
expect 'cleave preview m' ''
expect 'cleave nonsense --' ''

expect_in_fish() {  # line, words that must be offered
  local offered
  offered=$("$cleave" help fish | fish --no-config -c "source; complete -C '$1'" | cut -f1)
  if [[ $(xargs <<<"$offered") != "$2" ]]; then
    echo "fish, after \"$1\": offered \"$offered\", not \"$2\""
    failed=1
  fi
}

if command -v fish >/dev/null; then
  expect_in_fish 'cleave prev' 'preview'
  expect_in_fish 'cleave advise --go' '--goal'
  expect_in_fish 'cleave preview m.onnx --start ' 'acc cpu fewest reference'
  expect_in_fish 'cleave --conf' '--config'
fi
if command -v groff >/dev/null; then
  warnings=$("$cleave" help man | groff -man -ww -Tutf8 2>&1 >/dev/null)
  [[ -z $warnings ]] || { echo "$warnings"; failed=1; }
fi
exit $failed
