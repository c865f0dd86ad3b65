"use strict";
/* Numbers and elements, and tables that can be sorted, searched and paged. Without script, the rows of the page are all there. */
document.documentElement.classList.add("script");
const collator = new Intl.Collator(undefined, { numeric: true });

function visible(text) {  /* characters that reverse the order of text are shown by their codes */
  return String(text).replace(/[\u202a-\u202e\u2066-\u2069]/g, (mark) => "\\u" + mark.charCodeAt(0).toString(16));
}
function element(name, text, cls) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = visible(text);  /* never as markup */
  if (cls) made.className = cls;
  return made;
}
function button(text, cls, act) {
  const made = element("button", text, cls);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}
function select(label, choices, change) {  /* choices: value, text */
  const made = element("label", label + " "), list = element("select");
  choices.forEach(([value, text]) => { const option = element("option", text); option.value = value; list.append(option); });
  list.addEventListener("change", change);
  made.append(list);
  return made;
}
function digits(value) { return (Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)))).replace("-", "−"); }
function whole(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"); }
function percent(share) { return Math.round(100 * share) + "%"; }
function plusMinus(value) { return "±\u202f" + digits(value); }
function called(name) { return typeof name === "string" ? name : "annotator " + name; }

function drawn(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  return made;
}
function bar(share) {
  const outer = drawn("svg", { class: "bar", "aria-hidden": "true" });
  outer.append(drawn("rect", { width: 100 * share + "%", height: "100%", rx: 2 }));
  return outer;
}
function amount(text) { return { text }; }  /* a cell that is aligned to the right */
function line(cells) {
  const row = element("tr");
  cells.forEach((cell) => {
    const is_amount = typeof cell === "object" && !(cell instanceof Node);
    const made = element("td", cell instanceof Node ? undefined : is_amount ? cell.text : cell, is_amount ? "num" : "");
    if (cell instanceof Node) made.append(cell);
    row.append(made);
  });
  return row;
}
function table(head, rows) {
  const made = element("table"), top = made.createTHead().insertRow(), body = made.createTBody();
  const lines = rows.map(line);
  head.forEach((text, j) => { const cell = element("th", text, lines.length ? lines[0].cells[j].className : ""); cell.scope = "col"; top.append(cell); });
  body.append(...lines);
  return made;
}

/* Number that a cell shows, such as "71%", "±\u202f0.4" or "1\u202f200"; its text if it shows none. */
function sortKey(text) {
  const number = Number(text.replace(/[\s%±]/g, "").replace("−", "-"));
  return text.trim() && !Number.isNaN(number) ? number : text.trim();
}
function compare(a, b) { return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b); }

/* Show a table page by page. source: n rows, of which row(i) is drawn, text(i) searched, and key(i, j) sorted by.
   filters: label, choices, and whether to keep row i for a choice. */
function grid(table, page, source, filters = []) {
  const body = table.tBodies[0], box = table.closest(".scroll"), found = element("span", undefined, "note"), search = element("input");
  const back = button("Previous", "", () => turn(-page)), next = button("Next", "", () => turn(page));
  const lists = filters.map(([label, choices]) => select(label, choices, () => choose()));
  let column = null, sign = 1, first = 0, rows = [];

  function turn(by) { first += by; show(); }
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
    const chosen = lists.map((label) => label.lastChild.value);
    rows = Array.from({ length: source.n }, (_, i) => i).filter((i) => filters.every(([, , keep], k) => keep(chosen[k], i)));
    if (wanted) rows = rows.filter((i) => source.text(i).toLowerCase().includes(wanted));
    if (column !== null) {
      const keys = rows.map((i) => [source.key(i, column), i]), blank = (key) => key === "" || key === null;
      rows = keys.sort(([a], [b]) => blank(a) || blank(b) ? blank(a) - blank(b) : sign * compare(a, b)).map(([, i]) => i);  /* blank cells last */
    }
    first = 0; show();
  }

  Array.from(table.tHead.rows[0].cells).forEach((cell, j) => {
    if (!cell.textContent.trim() || cell.classList.contains("axis")) return;
    const head = button(undefined, "sort", () => {
      sign = column === j ? -sign : cell.classList.contains("num") ? -1 : 1;  /* the largest number first */
      column = j;
      Array.from(cell.parentNode.cells).forEach((each) => each.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      choose();
    });
    head.append(...cell.childNodes); cell.append(head);
  });
  if (source.n > page) {
    const tools = element("p", undefined, "tools"), pager = element("p", undefined, "pager");
    search.type = "search"; search.placeholder = "Search"; search.setAttribute("aria-label", "Search this table");
    search.addEventListener("input", choose);
    found.setAttribute("aria-live", "polite");
    tools.append(search, ...lists); box.before(tools);
    pager.append(back, next, found); box.after(pager);
  }
  choose();
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
