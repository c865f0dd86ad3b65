/* The map of expertise: dots on a canvas, coloured by skill or by the consensus; a selected region is listed beside it. */
(function () {
  const { items, scale, shown, is_number } = report, map = data.map, place = map.place;
  const byId = (id) => document.getElementById(id);
  if (!byId("map")) return;  /* items without features have no place on a map */
  const canvas = byId("map"), who = byId("map-who"), clear = byId("map-clear"), tip = byId("map-tip"), legend = byId("map-legend"), skill_legend = legend.firstElementChild;
  const pen = canvas.getContext("2d"), PAD = 14, STEPS = 9, COLOURS = 8, LISTED = 50, REACH = { mouse: 10, pen: 12, touch: 24 };
  const everything = map.x.map((_, i) => i), labelled = map.labelled.map((rows) => new Set(rows));
  const consensus = place.map((i) => items.consensus[i]), certainty = place.map((i) => items.certainty[i]);
  let width = 0, height = 0, brush = null, start = null, current = null;

  /* --- colours ---------------------------------------------------------------------------------- */

  function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  function step(value, worst, best) {
    const share = Math.min(Math.max((value - worst) / (best - worst || 1), 0), 1);
    return "--s" + Math.min(Math.floor(share * STEPS), STEPS - 1);
  }
  function ramp(values, worst, best, text) {
    const line = element("p", undefined, "legend"), strip = element("span", undefined, "ramp");
    for (let k = 0; k < STEPS; k++) strip.append(element("i", undefined, "b" + k));
    line.append(text(worst) + " ", strip, " " + text(best));
    return { of: values.map((value) => step(value, worst, best)), legend: line };
  }
  function kinds(of, names) {
    const line = element("p", undefined, "legend");
    names.forEach(([name, variable]) => { const mark = element("i"); mark.style.background = "var(" + variable + ")"; line.append(mark, element("bdi", name)); });
    return { of, legend: line };
  }
  function classColour(k) { return "--c" + Math.min(k, COLOURS - 1); }
  const modes = {
    sure: () => {
      const least = Math.min(...certainty), most = Math.max(...certainty);
      return is_number ? ramp(certainty, most, least, scale.certainty) : ramp(certainty, least, 1, scale.certainty);
    },
    consensus: () => {
      if (is_number) return ramp(consensus, Math.min(...consensus), Math.max(...consensus), digits);
      const names = data.classes.slice(0, COLOURS - 1).map((name, k) => [name, classColour(k)]);
      const rest = data.classes.slice(COLOURS - 1);
      return kinds(consensus.map(classColour), rest.length ? [...names, [rest.length === 1 ? rest[0] : rest.length + " more", classColour(COLOURS)]] : names);
    },
    labelled: () => kinds(place.map((i) => report.gold.has(i) ? "--c1" : items.n_labels[i] ? "--bar" : "--bar2"),
      [["labelled", "--bar"], ["not labelled", "--bar2"], ...(report.gold.size ? [["gold", "--c1"]] : [])]),
  };
  function colours() {
    if (modes[who.value]) return modes[who.value]();
    return { of: map.skill[Number(who.value)].map((value) => step(value, map.domain[0], map.domain[1])), legend: skill_legend };
  }

  /* --- drawing ---------------------------------------------------------------------------------- */

  function at(i) { return [PAD + map.x[i] * (width - 2 * PAD), height - PAD - map.y[i] * (height - 2 * PAD)]; }

  function draw() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth; height = Math.round(Math.min(width * 0.7, 520));
    canvas.style.height = height + "px";
    canvas.width = width * ratio; canvas.height = height * ratio;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const chosen_colours = colours(), palette = {}, radius = everything.length > 1000 ? 2.6 : 3.6;
    const inside = brush ? new Set(chosen()) : null;
    legend.replaceChildren(chosen_colours.legend);
    everything.forEach((i) => {
      const [x, y] = at(i), variable = chosen_colours.of[i];
      palette[variable] = palette[variable] || colour(variable);
      pen.globalAlpha = inside && !inside.has(i) ? 0.18 : 0.9;
      pen.fillStyle = palette[variable];
      pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.fill();
    });
    pen.globalAlpha = 1;
    pen.strokeStyle = getComputedStyle(canvas).color;
    if (current !== null) { const [x, y] = at(current); pen.lineWidth = 2; pen.beginPath(); pen.arc(x, y, radius + 4, 0, 2 * Math.PI); pen.stroke(); }
    if (brush) {
      pen.lineWidth = 1.25; pen.setLineDash([4, 3]);
      pen.strokeRect(brush[0] * width, brush[1] * height, (brush[2] - brush[0]) * width, (brush[3] - brush[1]) * height);
      pen.setLineDash([]);
    }
  }

  /* --- one dot ---------------------------------------------------------------------------------- */

  function describe(i) {
    const row = place[i], t = Number(who.value), lines = [shown(items.consensus[row]) + " (" + scale.certainty(items.certainty[row]) + ")"];
    if (map.skill[t]) lines.push(called(map.annotators[t]) + ": " + scale.skill(map.skill[t][i]));
    const first = element("b", items.id[row]);
    first.dir = "auto";
    tip.replaceChildren(first, ...lines.map((text) => element("span", text)));
  }
  function point(i) {  /* show which dot is meant, beside it */
    if (i === current) return;
    current = i; tip.hidden = i === null;
    if (i !== null) {
      const [x, y] = at(i);
      describe(i);
      tip.style.left = Math.min(Math.max(x - tip.offsetWidth / 2, 0), Math.max(width - tip.offsetWidth, 0)) + "px";
      tip.style.top = (y > tip.offsetHeight + 16 ? y - tip.offsetHeight - 12 : y + 14) + "px";
    }
    draw();
  }
  function nearest(x, y, reach) {
    let best = null, near = reach * reach;
    everything.forEach((i) => { const [dx, dy] = at(i), far = (dx - x) ** 2 + (dy - y) ** 2; if (far < near) { near = far; best = i; } });
    return best;
  }
  function neighbour(dx, dy) {  /* the nearest dot in a direction; sideways counts twice */
    if (current === null) return nearest(width / 2, height / 2, Infinity);
    const [x, y] = at(current);
    let best = current, near = Infinity;
    everything.forEach((i) => {
      const [px, py] = at(i), along = (px - x) * dx + (py - y) * dy, aside = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      if (along > 0.01 && along + 2 * aside < near) { near = along + 2 * aside; best = i; }
    });
    return best;
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
    const rows = chosen(), n = rows.length, ranking = byId("map-ranking"), listed = byId("map-items");
    byId("map-count").textContent = brush ? "In this region: " + whole(n) + (n === 1 ? " item" : " items") : "All items";
    clear.disabled = !brush;
    ranking.replaceChildren(); listed.replaceChildren();
    if (!n) { ranking.append(element("p", "No item lies here; drag over some dots.", "note")); return; }
    const people = map.annotators.map((name, t) => {
      const mean = brush ? rows.reduce((sum, i) => sum + map.skill[t][i], 0) / n : map.mean[t];
      return { t, name: called(name), mean, count: rows.filter((i) => labelled[t].has(i)).length };
    });
    people.sort((a, b) => scale.better(a.mean, b.mean));
    const most = Math.max(...people.map((each) => each.mean)) || 1;
    ranking.append(table(["annotator", "", scale.head, "labels here"],
      people.map((each) => [annotator(each.t, each.name), bar(scale.bar(each.mean, most)), amount(scale.skill(each.mean)), amount(whole(each.count))])));
    const unsure = [...rows].sort((a, b) => is_number ? certainty[b] - certainty[a] : certainty[a] - certainty[b]).slice(0, LISTED);
    if (n > unsure.length) listed.append(element("p", "The " + unsure.length + " least certain of " + whole(n) + ":", "note"));
    listed.append(table(["item", "consensus", scale.certaintyHead, "labels"], unsure.map((i) => {
      const cell = element("div", undefined, "item"), row = place[i];
      cell.append(report.link(row));
      if (items.text && items.text[row]) cell.append(element("span", items.text[row], "text"));
      return [cell, element("bdi", shown(items.consensus[row])), amount(scale.certainty(items.certainty[row])), amount(String(items.n_labels[row]))];
    })));
  }
  function resize(right, down) {  /* with the keyboard, a region around the current dot is made wider, narrower, higher or lower */
    const [x, y] = current === null ? [width / 2, height / 2] : at(current), STEP = 0.05, START = 0.1;
    const half = brush ? [(brush[2] - brush[0]) / 2, (brush[3] - brush[1]) / 2] : [START, START];
    const [wide, high] = [half[0] + STEP * right, half[1] - STEP * down].map((size) => Math.min(Math.max(size, STEP), 1));
    brush = [x / width - wide, y / height - high, x / width + wide, y / height + high];
    draw(); list();
  }
  function forget() { brush = null; draw(); list(); }

  /* --- what a reader does ----------------------------------------------------------------------- */

  function spot(event) {
    const box = canvas.getBoundingClientRect();
    return [Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1), Math.min(Math.max((event.clientY - box.top) / box.height, 0), 1)];
  }
  function under(event) { const [x, y] = spot(event); return nearest(x * width, y * height, REACH[event.pointerType] || 10); }
  canvas.addEventListener("pointerdown", (event) => { start = spot(event); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!start) { point(under(event)); return; }
    const end = spot(event);
    if (Math.abs(end[0] - start[0]) * width < 4 && Math.abs(end[1] - start[1]) * height < 4) return;
    brush = [Math.min(start[0], end[0]), Math.min(start[1], end[1]), Math.max(start[0], end[0]), Math.max(start[1], end[1])];
    point(null); draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const end = spot(event), moved = start && Math.max(Math.abs(end[0] - start[0]) * width, Math.abs(end[1] - start[1]) * height) >= 4;
    start = null;
    if (!moved) {
      const dot = under(event);
      point(dot);
      if (dot === null) brush = null; else report.open(place[dot]);
    }
    draw(); list();
  });
  canvas.addEventListener("pointercancel", () => { start = null; });
  canvas.addEventListener("pointerleave", () => { if (!start && document.activeElement !== canvas) point(null); });
  canvas.addEventListener("blur", () => point(null));
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    if (ARROWS[event.key] && event.shiftKey) resize(...ARROWS[event.key]);
    else if (ARROWS[event.key]) point(neighbour(...ARROWS[event.key]));
    else if ((event.key === "Enter" || event.key === " ") && current !== null) report.open(place[current]);
    else if (event.key === "Escape") { point(null); forget(); }
    else return;
    event.preventDefault();
  });

  /* Annotators that are named elsewhere on the page colour the map. */
  function colourBy(t) { who.value = String(t); draw(); canvas.scrollIntoView({ block: "center" }); canvas.focus({ preventScroll: true }); }
  function annotator(t, name) { const made = button(undefined, "link", () => colourBy(t)); made.title = "Colour the map by this annotator"; made.append(element("bdi", name)); return made; }
  document.querySelectorAll("[data-who]").forEach((named) => {
    named.replaceChildren(annotator(Number(named.dataset.who), named.textContent));
  });
  const dots = new Map(place.map((i, dot) => [i, dot]));
  report.whenOnMap((i) => dots.has(i) ? () => { canvas.scrollIntoView({ block: "center" }); canvas.focus({ preventScroll: true }); point(dots.get(i)); } : null);

  who.addEventListener("change", draw);
  clear.addEventListener("click", forget);
  window.addEventListener("resize", () => { point(null); draw(); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.matchMedia("print").addEventListener("change", draw);
  draw(); list();
})();
