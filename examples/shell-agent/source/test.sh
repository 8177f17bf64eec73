while read -r word; do
  grep -q "^$word: [0-9]* letters$" RESULT || { echo "RESULT does not have $word"; exit 1; }
done <TODO
