"use strict";
/* Tables that can be sorted, searched and shown page by page. Without script, all rows of the page are there. */
document.documentElement.classList.add("script");

function element(name, text, cls) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;  /* never as markup */
  if (cls) made.className = cls;
  return made;
}
function whole(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"); }

/* Number that a cell shows, such as "71%", "±\u202f0.4" or "1\u202f200"; its text if it shows none. */
function sortKey(text) {
  const number = Number(text.replace(/[\s%±]/g, "").replace("−", "-"));
  return text.trim() && !Number.isNaN(number) ? number : text.trim();
}
function compare(a, b) {
  if (a === "" || b === "") return (a === "") - (b === "");  /* blank cells last */
  if (typeof a === typeof b && typeof a === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

/* Show a table page by page. source: n rows, of which row(i) is drawn, text(i) searched and key(i, j) sorted by. */
function grid(table, page, source) {
  const body = table.tBodies[0], box = table.closest(".scroll");
  const found = element("span", undefined, "note"), search = element("input"), pager = element("p", undefined, "pager");
  const back = element("button", "Previous"), next = element("button", "Next");
  let column = null, sign = 1, first = 0, rows = [];
  found.setAttribute("aria-live", "polite");

  function show() {
    first = Math.max(Math.min(first, rows.length - 1), 0);
    first -= first % page;
    const last = Math.min(first + page, rows.length);
    body.replaceChildren(...rows.slice(first, last).map(source.row));
    found.textContent = rows.length ? whole(first + 1) + "–" + whole(last) + " of " + whole(rows.length) : "Nothing found";
    back.disabled = first === 0; next.disabled = last === rows.length;
  }
  function choose() {
    const wanted = search.value.trim().toLowerCase();
    rows = Array.from({ length: source.n }, (_, i) => i);
    if (wanted) rows = rows.filter((i) => source.text(i).toLowerCase().includes(wanted));
    if (source.keep) rows = rows.filter(source.keep);
    if (column !== null) {
      const keys = new Map(rows.map((i) => [i, source.key(i, column)]));
      rows.sort((i, j) => { const a = keys.get(i), b = keys.get(j); return a === "" || b === "" ? compare(a, b) : sign * compare(a, b); });
    }
    first = 0; show();
  }

  Array.from(table.tHead.rows[0].cells).forEach((cell, j) => {
    if (!cell.textContent.trim() || cell.classList.contains("axis")) return;
    const button = element("button", undefined, "sort");
    button.type = "button";
    button.append(...cell.childNodes); cell.append(button);
    button.addEventListener("click", () => {
      sign = column === j ? -sign : cell.classList.contains("num") ? -1 : 1;  /* the largest number first */
      column = j;
      Array.from(cell.parentNode.cells).forEach((each) => each.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      choose();
    });
  });
  if (source.n > page) {
    search.type = "search"; search.placeholder = "Search"; search.setAttribute("aria-label", "Search this table");
    search.addEventListener("input", choose);
    [back, next].forEach((button, k) => { button.type = "button"; button.addEventListener("click", () => { first += k ? page : -page; show(); }); });
    const tools = element("p", undefined, "tools");
    tools.append(search); box.before(tools);
    pager.append(back, next, found); box.after(pager);
  }
  choose();
  return choose;
}

/* Tables whose rows are in the page. On narrow screens, cells of cases stand below each other with their heading. */
document.querySelectorAll("table[data-page]").forEach((table) => {
  const rows = Array.from(table.tBodies[0].rows), heads = Array.from(table.tHead.rows[0].cells).map((cell) => cell.textContent);
  if (table.classList.contains("cases")) rows.forEach((row) => Array.from(row.cells).forEach((cell, j) => {
    const inner = element("div");
    inner.append(...cell.childNodes); cell.append(inner); cell.dataset.what = heads[j];
  }));
  grid(table, Number(table.dataset.page), {
    n: rows.length, row: (i) => rows[i], text: (i) => rows[i].textContent, key: (i, j) => sortKey(rows[i].cells[j].textContent),
  });
});
