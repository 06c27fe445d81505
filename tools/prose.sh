#!/usr/bin/env bash
# Finds phrases that are hard to read: tools/prose.sh [path ...]. Reword also false alarms.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Pairs of a pattern and its replacement. Patterns are case-sensitive, and some skip quoted names.
rules=(
  '\b(is|are|was|were) what\b'                    'X is the …, X returns …, X holds …'
  '\b([Tt]hat|[Tt]hose) of\b'                           'repeat the noun'
  '\b[Tt]hose (who|that|which|whose)\b'              'repeat the noun'
  '\b[Tt]he ones? (that|which|of|who|whose)\b'       'repeat the noun'
  '\b[Ww]hom\b'                                      'repeat the noun'
  '\b([Ii]n earnest|[Ww]hoever)\b'                      'say who, or what'
  '(^|[^"`])\b[Bb]esides?\b'                         'next to, with, except, also'
  '\bof (its|their|his|our|one.s|ones) own\b'     'a separate, its'
  '\bstands? in\b'                                'is in, replaces'
  '\b(goes|go|went|going) on\b'                   'continues, happens'
  '\bbut for\b'                                   'except'
  '\bas [a-z]+ has it\b'                          'as X says'
  '\bnot (uncommon|unlike|unlikely|unusual|infrequent)\b' 'say it without two negatives'
  '\bsays? whether\b'                             'reports whether'
  '\b(is|are) how (long|many|much|often|far|old|large)\b' 'X is the time, the number, the size …'
  '^[[:space:]]*(//|--|#) (Of|To) [A-Za-z ]+ (is|are|has|have) '  'subject, verb, object'
)
# Released migrations, recorded histories and licences must not change.
exclude=(':!migrations' ':!*/testdata/*' ':!LICENSE' ':!go.sum' ':!*.svg' ':!tools/prose.sh')

found=0
for ((i = 0; i < ${#rules[@]}; i += 2)); do
  if git grep --untracked -nIE "${rules[i]}" -- "${@:-.}" "${exclude[@]}"; then
    echo "    ^ write instead: ${rules[i + 1]}"
    found=1
  fi
done
# A table ends at a blank line: the rows after it show as raw text.
git ls-files --cached --others --exclude-standard -z '*.md' | xargs -0 awk '
  FNR == 1 { head = 0; blank = 1 }
  head && !/^ *\|[-:| ]+$/ { print FILENAME ":" FNR - 1 ": a blank line ends the table above"; bad = 1 }
  { head = blank && /^ *\|/; blank = /^$/ }
  END { exit bad }' || found=1
exit $found
