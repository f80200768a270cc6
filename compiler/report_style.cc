#include "compiler/report_sections.h"

namespace corten {

const char* const kReportStyle = R"css(
:root {
  --ground: #fff; --raised: #f4f5f7; --ink: #1a1c20; --faint: #555b66; --line: #c9ced6; --link: #0b57b0; --focus: #c2410c;
  --input: #9cc5a1; --value: #a9c4ea; --output: #f0c987; --scratch: #8d8d99; --peak: #b3261e; --bound: #5b3fa8; --found: #fff3c4;
  --c0: #4c78c8; --c1: #e08a3c; --c2: #58a065; --c3: #b05ab8; --c4: #c9a227; --c5: #3fa7a7; --c6: #c85c6e; --c7: #80868f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15171b; --raised: #20242b; --ink: #e8eaee; --faint: #a7aeba; --line: #444b57; --link: #8fbcff; --focus: #ffb074;
    --input: #3f6f47; --value: #385d94; --output: #8a6526; --scratch: #8b8b98; --peak: #ff8a80; --bound: #c3adff; --found: #4a4218;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0 auto; max-width: 75rem; padding: 0 1rem 3rem; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: 1.2rem 0 0.3rem; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 0.6rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.4rem 0 0.4rem; }
a { color: var(--link); }
code { font: 0.9em ui-monospace, monospace; unicode-bidi: isolate; }
small { color: var(--faint); font-weight: normal; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 1px; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: 0.5rem; background: var(--ground); padding: 0.3rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.missing { color: var(--faint); }
.missing::before { content: "\2013\00a0"; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; }
nav a { display: inline-block; padding: 0.25rem 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: 0.6rem; margin: 1rem 0; }
.facts div { background: var(--raised); border-radius: 6px; padding: 0.5rem 0.75rem; }
.facts dt { color: var(--faint); font-size: 0.85rem; }
.facts dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.facts small { display: block; font-size: 0.75rem; }
.scroll { overflow-x: auto; max-width: 100%; margin: 0.5rem 0; position: relative; }
#steps .scroll { max-height: 80vh; overflow-y: auto; }
table { border-collapse: collapse; font-size: 0.875rem; overflow-wrap: normal; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid var(--line);
  unicode-bidi: isolate; }
td, tbody th { white-space: nowrap; }
thead th { background: var(--raised); position: sticky; top: 0; white-space: nowrap; }
thead small { display: block; font-size: 0.72rem; min-width: 5.5rem; max-width: 11rem; white-space: normal; line-height: 1.2; }
tbody th { font-weight: normal; }
td code, th code { max-width: 34rem; display: inline-block; overflow: hidden; text-overflow: ellipsis; vertical-align: top;
  line-height: 1.6; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td ul { margin: 0; padding-left: 1rem; }
.prose { display: block; min-width: min(17rem, 48vw); max-width: 42rem; white-space: normal; overflow-wrap: anywhere; }
tr:target, tr.found { background: var(--found); }
thead button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: left; }
thead button::after { content: " \2195"; color: var(--faint); }
th[aria-sort=ascending] button::after { content: " \2191"; color: var(--ink); }
th[aria-sort=descending] button::after { content: " \2193"; color: var(--ink); }
input { font: inherit; accent-color: var(--link); }
input[type=search] { padding: 0.3rem 0.5rem; border: 1px solid var(--faint); border-radius: 4px; background: var(--ground);
  color: var(--ink); width: min(22rem, 100%); }
input[type=range] { width: min(28rem, 100%); vertical-align: middle; }
summary { cursor: pointer; padding: 0.3rem 0; }
.bar { display: block; width: 100%; height: 30px; border-radius: 4px; }
.meter { width: 90px; height: 10px; background: var(--raised); }
.key { display: inline-block; width: 0.9em; height: 0.9em; margin-right: 0.4em; border: 1px solid var(--faint);
  vertical-align: -0.08em; }
.legend .key:not(:first-child) { margin-left: 1em; }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); }
.c2 { fill: var(--c2); background: var(--c2); } .c3 { fill: var(--c3); background: var(--c3); }
.c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); } .c7 { fill: var(--c7); background: var(--c7); }
.part { stroke: var(--ground); stroke-width: 1; vector-effect: non-scaling-stroke; }
.key.input { background: var(--input); } .key.value { background: var(--value); } .key.output { background: var(--output); }
.key.scratch { background: repeating-linear-gradient(45deg, var(--scratch) 0 2px, var(--ground) 2px 5px); }
#arena-chart { display: block; cursor: crosshair; }
.block { stroke: var(--faint); stroke-width: 1; fill-opacity: 0.85; }
.block.input { fill: var(--input); } .block.value { fill: var(--value); } .block.output { fill: var(--output); }
.block.scratch { fill: url(#hatch); }
.block:hover, .block.live { stroke: var(--ink); stroke-width: 2; }
.block:focus { outline: none; stroke: var(--focus); stroke-width: 4; }
.hatch-ground { fill: var(--ground); } .hatch-line { stroke: var(--scratch); stroke-width: 3; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { fill: var(--faint); font-size: 11px; } .axis.strong { fill: var(--ink); font-weight: 600; }
.axis.strong, .name { paint-order: stroke; stroke: var(--ground); stroke-width: 3px; stroke-opacity: 0.75; stroke-linejoin: round; }
.name { fill: var(--ink); font: 11px ui-monospace, monospace; pointer-events: none; stroke-width: 0; }
.peak { stroke: var(--peak); stroke-width: 2; } .bound { stroke: var(--bound); stroke-width: 2; stroke-dasharray: 7 4; }
.mark { fill: var(--bound); }
#cursor { fill: var(--focus); fill-opacity: 0.22; stroke: var(--focus); pointer-events: none; }
.detail { min-height: 3em; background: var(--raised); border-radius: 6px; padding: 0.5rem 0.75rem; }
@media (max-width: 40rem) {
  #advice-table tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 8rem; max-width: 9rem; }
  .prose { min-width: min(17rem, 52vw); }
}
@media print { .scroll { overflow: visible; } nav, .controls, .skip { display: none; } }
)css";

}  // namespace corten
