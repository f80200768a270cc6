#include "compiler/report_sections.h"

namespace corten {

// Sorts tables, searches the steps, and explains the arena. All text goes in as textContent.
const char* const kReportScript = R"js("use strict";
const $ = id => document.getElementById(id);

// ---- tables that sort ----
function keyOf(row, column) {
  const cell = row.cells[column];
  if (!cell) return "";
  if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
  return cell.classList.contains("number") ? null : cell.textContent.toLowerCase();
}

// Cells without a figure come last, whichever way.
function compareKeys(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))) * sign;
}

function sortBy(table, header) {
  const column = header.cellIndex, body = table.tBodies[0], rows = [...body.rows];
  const numbers = rows.some(r => r.cells[column] && r.cells[column].classList.contains("number"));
  const before = header.getAttribute("aria-sort");
  const ascending = before === "none" ? !numbers : before === "descending";
  for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  rows.sort((a, b) => compareKeys(keyOf(a, column), keyOf(b, column), ascending ? 1 : -1));
  body.append(...rows);
}

for (const button of document.querySelectorAll("table.sorts thead button"))
  button.addEventListener("click", () => sortBy(button.closest("table"), button.closest("th")));

// ---- search in the steps ----
const search = $("step-search"), stepRows = [...$("step-table").tBodies[0].rows];
const texts = stepRows.map(r => r.textContent.toLowerCase());

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(w => w);
  let shown = 0;
  stepRows.forEach((row, i) => {
    row.hidden = !words.every(w => texts[i].includes(w));
    shown += !row.hidden;
  });
  $("step-count").textContent = `${shown} of ${stepRows.length} steps`;
}
search.addEventListener("input", filter);
filter();

// A link to a step shows it even where the search has hidden it.
document.addEventListener("click", event => {
  const link = event.target.closest('a[href^="#step-"]');
  if (!link) return;
  search.value = "";
  filter();
  const row = document.querySelector(link.getAttribute("href"));
  if (row) row.focus({preventScroll: true});
});

// ---- the arena ----
function setUpArena(chart) {
  const blocks = [...chart.querySelectorAll(".block")], slider = $("arena-step");
  const left = Number(chart.dataset.left), cell = Number(chart.dataset.cell), steps = Number(chart.dataset.steps);
  const nameOfStep = step => step < 0 ? "before the first step" : step >= steps ? "after the last step" : `step ${step}`;

  function show(step) {
    slider.value = step;
    const body = $("live-table").tBodies[0];
    body.replaceChildren();
    let bytes = 0, count = 0;
    for (const block of blocks) {
      const d = block.dataset, live = Number(d.first) <= step && step <= Number(d.last);
      block.classList.toggle("live", live);
      if (!live) continue;
      bytes += Number(d.bytes);
      count++;
      const row = body.insertRow(), head = document.createElement("th");
      head.scope = "row";
      head.textContent = d.name;
      row.append(head);
      for (const value of [d.bytes, d.offset, d.first, d.last]) {
        const cellOfRow = row.insertCell();
        cellOfRow.className = "number";
        cellOfRow.textContent = Number(value).toLocaleString("en");
      }
    }
    const cursor = $("cursor");
    cursor.setAttribute("x", left + cell * (step + 1));
    cursor.setAttribute("visibility", "visible");
    $("arena-shown").textContent = `${nameOfStep(step)}: ${count} live, ${bytes.toLocaleString("en")} bytes added up`;
    slider.setAttribute("aria-valuetext", nameOfStep(step));
  }

  let current = 0;  // the one block in the tab order
  function makeCurrent(index, focus) {
    blocks[current].setAttribute("tabindex", "-1");
    current = (index + blocks.length) % blocks.length;
    blocks[current].setAttribute("tabindex", "0");
    if (focus) blocks[current].focus();
  }

  blocks.forEach((block, index) => {
    const explain = () => { $("arena-detail").textContent = block.getAttribute("aria-label"); };
    block.setAttribute("tabindex", "-1");
    block.addEventListener("mouseenter", explain);
    block.addEventListener("focus", () => { makeCurrent(index, false); explain(); });
  });
  makeCurrent(0, false);

  chart.addEventListener("keydown", event => {
    const moves = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
    if (event.key in moves) makeCurrent(current + moves[event.key], true);
    else if (event.key === "Enter" || event.key === " ") show(Number(blocks[current].dataset.first));
    else return;
    event.preventDefault();
  });
  chart.addEventListener("click", event => {
    const step = Math.floor((event.clientX - chart.getBoundingClientRect().left - left) / cell) - 1;
    show(Math.max(-1, Math.min(steps, step)));
  });
  slider.addEventListener("input", () => show(Number(slider.value)));
  show(Number(slider.value));
}
if ($("arena-chart")) setUpArena($("arena-chart"));
)js";

}  // namespace corten
