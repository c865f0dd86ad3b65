/* The map of expertise: dots on a canvas, coloured by the skill of an annotator; a selected region is listed beside it. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("map"), who = document.getElementById("map-who");
  const clear = document.getElementById("map-clear"), heading = document.getElementById("map-count");
  const ranking = document.getElementById("map-ranking"), items = document.getElementById("map-items");
  const pen = canvas.getContext("2d"), PAD = 14, STEPS = 9, LISTED = 50;
  const everything = data.x.map((_, i) => i);
  const labelled = data.labelled.map((rows) => new Set(rows));
  let width = 0, height = 0, brush = null, start = null;

  /* --- numbers and words ------------------------------------------------------------------------ */

  function digits(value) { return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3))); }
  function percent(value) { return Math.round(100 * value) + "%"; }
  function plusMinus(value) { return "±\u202f" + digits(value); }
  function called(name) { return typeof name === "string" ? name : "annotator " + name; }

  /* Skill is a probability of being right, or a typical error. */
  const scale = {
    probability: {
      skill: percent, certainty: (doubt) => percent(1 - doubt), value: String, bar: (mean) => mean,
      better: (a, b) => b - a, head: "right", certaintyHead: "probability", least: () => 0,
    },
    error: {
      skill: plusMinus, certainty: plusMinus, value: digits, bar: (mean, most) => mean / most,
      better: (a, b) => a - b, head: "typical error", certaintyHead: "uncertainty", least: (doubt) => Math.min(...doubt),
    },
  }[data.scale];

  function numeric(cell) { return typeof cell === "object" && !(cell instanceof Node); }
  function amount(text) { return { text }; }  /* a cell that is aligned to the right */

  function table(head, rows) {
    const made = element("table"), top = made.createTHead().insertRow(), body = made.createTBody();
    head.forEach((text, j) => { const cell = element("th", text, rows.length && numeric(rows[0][j]) ? "num" : ""); cell.scope = "col"; top.append(cell); });
    rows.forEach((row) => {
      const line = body.insertRow();
      row.forEach((cell) => {
        const made = element("td", cell instanceof Node ? undefined : numeric(cell) ? cell.text : cell, numeric(cell) ? "num" : "");
        if (cell instanceof Node) made.append(cell);
        line.append(made);
      });
    });
    return made;
  }

  function bar(share) {
    const outer = element("span", undefined, "bar"), inner = element("i");
    inner.style.width = 100 * share + "%";
    outer.append(inner);
    return outer;
  }

  /* --- drawing ---------------------------------------------------------------------------------- */

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return Array.from({ length: STEPS }, (_, k) => style.getPropertyValue("--s" + k).trim());
  }

  function step(value, worst, best) {
    const place = Math.min(Math.max((value - worst) / (best - worst), 0), 1);
    return Math.min(Math.floor(place * STEPS), STEPS - 1);
  }

  function steps() {
    if (who.value === "sure") {
      const least = scale.least(data.doubt), most = Math.max(...data.doubt) || 1;
      return data.doubt.map((value) => step(value, most > least ? most : least + 1, least));
    }
    return data.skill[Number(who.value)].map((value) => step(value, data.domain[0], data.domain[1]));
  }

  function at(i) { return [PAD + data.x[i] * (width - 2 * PAD), height - PAD - data.y[i] * (height - 2 * PAD)]; }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = Math.round(Math.min(width * 0.7, 520));
    canvas.style.height = height + "px";
    canvas.width = width * ratio; canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const palette = colours(), step = steps(), radius = everything.length > 1000 ? 2.6 : 3.6;
    const inside = brush ? new Set(chosen()) : null;
    everything.forEach((i) => {
      const [x, y] = at(i);
      pen.globalAlpha = inside && !inside.has(i) ? 0.18 : 0.9;
      pen.fillStyle = palette[step[i]];
      pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.fill();
    });
    pen.globalAlpha = 1;
    if (brush) {
      pen.strokeStyle = getComputedStyle(canvas).color; pen.lineWidth = 1.25; pen.setLineDash([4, 3]);
      pen.strokeRect(brush[0] * width, brush[1] * height, (brush[2] - brush[0]) * width, (brush[3] - brush[1]) * height);
      pen.setLineDash([]);
    }
  }

  /* --- the region ------------------------------------------------------------------------------- */

  function chosen() {
    if (!brush) return everything;
    return everything.filter((i) => {
      const [x, y] = at(i);
      return x >= brush[0] * width && x <= brush[2] * width && y >= brush[1] * height && y <= brush[3] * height;
    });
  }

  function list() {
    const rows = chosen(), n = rows.length;
    heading.textContent = brush ? "In this region: " + whole(n) + (n === 1 ? " item" : " items") : "All items";
    clear.disabled = !brush;
    ranking.replaceChildren(); items.replaceChildren();
    if (!n) { ranking.append(element("p", "No item lies here; drag over some dots.", "note")); return; }
    const people = data.annotators.map((name, t) => {
      const mean = rows.reduce((sum, i) => sum + data.skill[t][i], 0) / n;
      return { name: called(name), mean, count: rows.filter((i) => labelled[t].has(i)).length };
    });
    people.sort((a, b) => scale.better(a.mean, b.mean));
    const most = Math.max(...people.map((each) => each.mean)) || 1;
    ranking.append(table(["annotator", "", scale.head, "labels here"],
      people.map((each) => [each.name, bar(scale.bar(each.mean, most)), amount(scale.skill(each.mean)), amount(whole(each.count))])));
    const unsure = [...rows].sort((a, b) => data.doubt[b] - data.doubt[a]).slice(0, LISTED);
    if (n > unsure.length) items.append(element("p", "The " + unsure.length + " least certain of " + whole(n) + ":", "note"));
    items.append(table(["item", "consensus", scale.certaintyHead, "labels"], unsure.map((i) => {
      const cell = element("div", undefined, "item");
      cell.append(element("b", String(data.item[i]), "id"));
      if (data.text && data.text[i]) cell.append(element("span", data.text[i], "text"));
      return [cell, scale.value(data.consensus[i]), amount(scale.certainty(data.doubt[i])), amount(String(data.n_labels[i]))];
    })));
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    return [Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1), Math.min(Math.max((event.clientY - box.top) / box.height, 0), 1)];
  }

  canvas.addEventListener("pointerdown", (event) => { start = place(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!start) { point(event); return; }
    const end = place(event);
    brush = [Math.min(start[0], end[0]), Math.min(start[1], end[1]), Math.max(start[0], end[0]), Math.max(start[1], end[1])];
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    if (start && (!brush || (brush[2] - brush[0]) * width < 4 || (brush[3] - brush[1]) * height < 4)) brush = null;
    start = null; draw(); list();
  });
  canvas.addEventListener("pointercancel", () => { start = null; });

  function point(event) {
    const [px, py] = place(event);
    let best = null, near = 64;
    everything.forEach((i) => {
      const [x, y] = at(i), far = (x - px * width) ** 2 + (y - py * height) ** 2;
      if (far < near) { near = far; best = i; }
    });
    canvas.title = best === null ? "" : data.item[best] + ": " + scale.value(data.consensus[best]) + " (" + scale.certainty(data.doubt[best]) + ")"
      + (who.value === "sure" ? "" : "\n" + called(data.annotators[Number(who.value)]) + ": " + scale.skill(data.skill[Number(who.value)][best]));
  }

  function forget() { brush = null; draw(); list(); }
  who.addEventListener("change", draw);
  clear.addEventListener("click", forget);
  canvas.addEventListener("keydown", (event) => { if (event.key === "Escape") forget(); });
  window.addEventListener("resize", draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.matchMedia("print").addEventListener("change", draw);
  draw(); list();
})();
