# After a crash the workspace is fresh: RESULT comes back out of the checkpoint, and what is in it is not done again.
set -eu
PATH=/plan/bin:$PATH
pawl checkpoint load main-0 >RESULT 2>/dev/null || : >RESULT
while read -r word; do
  if grep -q "^$word:" RESULT; then continue; fi
  echo "working on $word" >&2
  echo "$word: $(printf %s "$word" | wc -c) letters" >>RESULT
  pawl checkpoint save main-0 <RESULT >/dev/null # on the disk when it returns
done <TODO
