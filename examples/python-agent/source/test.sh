for name in $(sed -n 's/^def \([a-z_]*\).*/\1/p' *.py); do
  grep -q "\`$name\`" FUNCTIONS.md || { echo "FUNCTIONS.md does not describe $name"; exit 1; }
done
