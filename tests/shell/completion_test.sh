#!/bin/bash
# Completes command lines in bash as a person would with the tab key, and has zsh and fish read
# their scripts where they are installed. The man page must go through groff without a warning.
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

complete() { :; }
source <("$cleave" --completion bash)
expect 'cleave prev' 'preview'
expect 'cleave --ver' '--version'
expect 'cleave --completion ' 'bash zsh fish'
expect 'cleave preview m.onnx --start ' 'reference cpu acc fewest'
expect 'cleave preview m.onnx --start f' 'fewest'
expect 'cleave advise m.onnx --go' '--goal'
expect 'cleave advise --goal q' 'qps'
expect 'cleave preview m.onnx -s ' ''
expect 'cleave preview m' ''
expect 'cleave nonsense --' ''

for shell in zsh fish; do
  command -v $shell >/dev/null || continue
  "$cleave" --completion $shell >"${TMPDIR:-/tmp}/completion.$$"
  $shell --no-execute "${TMPDIR:-/tmp}/completion.$$" || failed=1
  rm -f "${TMPDIR:-/tmp}/completion.$$"
done
if command -v groff >/dev/null; then
  warnings=$("$cleave" --man-page | groff -man -ww -Tutf8 2>&1 >/dev/null)
  [[ -z $warnings ]] || { echo "$warnings"; failed=1; }
fi
exit $failed
