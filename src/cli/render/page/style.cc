// The page's style sheet. Colours come in pairs, for light and for dark. All have a contrast of at least 4.5
// to their background (WCAG 2.1, AA).
#include "cli/render/page/page.h"

namespace pawl::cli::page {
namespace {

constexpr const char* kColours = R"(
:root{color-scheme:light dark;--ground:#f5f6f8;--card:#fff;--ink:#1b2129;--quiet:#5b6673;--line:#dde2e8;--soft:#f0f2f5;
--good:#116b38;--good-soft:#dcf3e4;--bad:#b3261e;--bad-soft:#fbe4e2;--open:#8a5200;--open-soft:#fdefd2;--link:#0b57b7;
--agent:#5b6ee1;--gate:#7d8896}
@media (prefers-color-scheme:dark){:root{--ground:#12161b;--card:#1a2027;--ink:#e3e8ee;--quiet:#9aa7b5;--line:#2d3640;
--soft:#212932;--good:#5fd08f;--good-soft:#15352a;--bad:#ff8a80;--bad-soft:#43211f;--open:#f2b654;--open-soft:#3d2e12;
--link:#7db4ff;--agent:#8f9dff;--gate:#8693a2}}
)";

constexpr const char* kText = R"(
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:2rem 1.25rem;max-width:72rem;background:var(--ground);color:var(--ink);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1,h2,h3,h4{line-height:1.25;margin:0}
h1{font-size:1.9rem;letter-spacing:-.01em;display:flex;flex-wrap:wrap;gap:.75rem;align-items:center}
h2{font-size:1.25rem;display:flex;flex-wrap:wrap;gap:.6rem;align-items:center;margin-bottom:.6rem}
h3{font-size:1.02rem;display:flex;flex-wrap:wrap;gap:.6rem;align-items:center}
h4{font-size:.75rem;text-transform:uppercase;letter-spacing:.06em;color:var(--quiet);margin:1.1rem 0 .35rem}
p{margin:.35rem 0}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.86em}
code,pre,td,dd,li,.goal,b{unicode-bidi:isolate}
.kicker,.meta,.none,footer{color:var(--quiet);font-size:.87rem}
.kicker{margin:0 0 .3rem}
.lead{font-size:1.02rem}
.goal{font-size:1.02rem;margin:0 0 .3rem}
.none{font-style:italic}
.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--open)}
i.x{font-style:normal;color:var(--open);background:var(--open-soft);border-radius:3px;padding:0 1px}
)";

constexpr const char* kParts = R"(
header,section,article{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.25rem 1.4rem}
header,section{margin-bottom:1.1rem}
article{margin-top:.9rem;padding:1rem 1.15rem;border-radius:8px}
header nav{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;margin-top:1rem;padding-top:.8rem;border-top:1px solid var(--line)}
.badge{display:inline-block;font-size:.75rem;font-weight:600;line-height:1.5;padding:.05rem .55rem;border-radius:99px;
letter-spacing:.01em;white-space:nowrap;background:var(--soft);color:var(--quiet)}
.badge.good{background:var(--good-soft);color:var(--good)}
.badge.bad{background:var(--bad-soft);color:var(--bad)}
.badge.open{background:var(--open-soft);color:var(--open)}
h1 .badge{font-size:.85rem;padding:.2rem .8rem}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.8rem 1.4rem;margin:1rem 0 0}
.facts.wide{grid-template-columns:1fr;gap:.45rem}
.facts.wide>div{display:grid;grid-template-columns:8.5rem 1fr;gap:.2rem 1rem}
dt{color:var(--quiet);font-size:.8rem}
dd{margin:0;font-variant-numeric:tabular-nums}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th{font-weight:600;font-size:.78rem;color:var(--quiet);text-align:left;white-space:nowrap}
th,td{padding:.34rem .9rem .34rem 0;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child td{border-bottom:0}
td:last-child,th:last-child{padding-right:0}
td{min-width:4.8rem}
td:first-child{min-width:8rem}
td.n{white-space:nowrap;min-width:0}
td b{font-weight:600}
h3+.meta{margin-bottom:.5rem}
.details{color:var(--quiet)}
ul.decisions{margin:.3rem 0;padding:0;list-style:none}
ul.decisions li{padding:.3rem 0 .3rem .8rem;border-left:3px solid var(--open);margin:.3rem 0}
time{color:var(--quiet);font-size:.85rem;margin-right:.4rem}
pre{margin:.35rem 0;padding:.7rem .85rem;background:var(--soft);border-radius:6px;white-space:pre-wrap;
max-height:26rem;overflow:auto;tab-size:4;line-height:1.5}
details{margin:.35rem 0}
summary{cursor:pointer;padding:.15rem 0}
.diff{padding:.4rem 0}
.diff span{display:block;padding:0 .85rem}
.diff .add{background:var(--good-soft)}.diff .del{background:var(--bad-soft)}
.diff .hunk,.diff .meta{color:var(--quiet);font-size:1em}
footer{padding:.5rem .2rem 0}
)";

constexpr const char* kTimeline = R"(
.lanes{display:grid;grid-template-columns:minmax(4rem,max-content) 1fr;gap:.35rem 1rem;align-items:center}
.lanes a{max-width:14rem;font-weight:600;font-size:.9rem}
.lanes svg{display:block;background:var(--soft);border-radius:4px}
.ticks{display:flex;justify-content:space-between;color:var(--quiet);font-size:.75rem;font-variant-numeric:tabular-nums}
rect.good{fill:var(--good)}rect.bad{fill:var(--bad)}rect.open{fill:var(--open)}rect.quiet{fill:var(--quiet)}
rect.agent{fill:var(--agent)}rect.gate{fill:var(--gate)}
svg text{fill:var(--card);font:600 11px system-ui,sans-serif;text-anchor:middle}
.legend{color:var(--quiet);font-size:.8rem;margin-top:.7rem}
.key{display:inline-block;width:.75rem;height:.75rem;border-radius:3px;margin:0 .35rem 0 .7rem;vertical-align:-1px}
.key:first-child{margin-left:0}
.key.good{background:var(--good)}.key.bad{background:var(--bad)}.key.open{background:var(--open)}
.key.agent{background:var(--agent);height:.3rem;vertical-align:2px}
.key.gate{background:var(--gate);height:.3rem;vertical-align:2px}
)";

constexpr const char* kMedia = R"(
@media (max-width:40rem){body{padding:.7rem .6rem;font-size:14px}
header,section{padding:1rem .9rem;border-radius:8px}article{padding:.8rem .7rem}
h1{font-size:1.5rem}
.facts{grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr))}
.facts.wide>div{grid-template-columns:1fr;gap:0}
.lanes{grid-template-columns:1fr;gap:.15rem}.lanes>span{display:none}.lanes a{margin-top:.4rem}}
@media print{:root{--ground:#fff;--card:#fff;--ink:#000;--quiet:#444;--line:#bbb;--soft:#f4f4f4;--good:#116b38;
--good-soft:#e4f4ea;--bad:#b3261e;--bad-soft:#fbe9e7;--open:#8a5200;--open-soft:#fdf3df;--link:#000}
@page{margin:16mm}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
body{max-width:none;padding:0;font-size:10pt}header nav{display:none}
header,section{border:0;padding:0 0 1rem;border-bottom:1px solid var(--line);border-radius:0}
h2,h3,h4,summary{break-after:avoid}tr,.lanes{break-inside:avoid}
pre{max-height:none;overflow:visible}.scroll{overflow:visible}
details::details-content{content-visibility:visible;display:block}}
)";

}  // namespace

std::string style() { return std::string(kColours) + kText + kParts + kTimeline + kMedia; }

}  // namespace pawl::cli::page
