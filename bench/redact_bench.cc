// The redactor on the output of a build, in the pieces that a supervisor reads.
#include <benchmark/benchmark.h>

#include <string>

#include "amount.h"
#include "secrets/redact.h"

namespace {

constexpr std::size_t kPiece = 64 << 10;
const auto kPieces = static_cast<std::size_t>(amount(256));

std::string log_text() {
  std::string out;
  for (int i = 0; out.size() < kPiece * kPieces; ++i) {
    const std::string n = std::to_string(i);
    out += "[" + n + "/4711] Building CXX object src/CMakeFiles/thing.dir/part" + n + ".cc.o\n";
    out += "ok " + n + " - the token of the lexer is next (https://example.org/docs/" + n + ")\n";
    if (i % 1000 == 0) out += "3f786850e387550fdab836ed7e6dc881de23001b sk-learn key-value\n";
  }
  return out;
}

void Redact(benchmark::State& state) {
  const std::string text = log_text();
  const pawl::secrets::Redactor redactor(std::string(64, '0'),
                                         {{"ONE", "tangerine/7"}, {"TWO", "a-longer-secret-of-somebody"}});
  for (auto _ : state) {
    pawl::secrets::Redactor::Stream stream(redactor);
    std::size_t passed = 0;
    for (std::size_t at = 0; at < text.size(); at += kPiece)
      passed += stream.take(std::string_view(text).substr(at, kPiece)).size();
    passed += stream.finish().size();
    if (passed != text.size()) state.SkipWithError("something was taken for a secret");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(Redact)->Unit(benchmark::kMillisecond);

}  // namespace
