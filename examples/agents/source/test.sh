grep -q "hello, world" greeting
