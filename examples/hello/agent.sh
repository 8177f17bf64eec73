# A first try that is almost right; the second one reads what was missing.
if [ -z "$PAWL_FEEDBACK" ]; then
  echo "hello" > greeting
else
  echo "hello, world" > greeting
fi
