/* All items: a table of them, and a card for each with its labels. On a server, each item also has a page: data.pages is its address. */
const data = JSON.parse(document.getElementById("data").textContent);
const report = (function () {
  const items = data.items, n = items.id.length, overruled = new Set(items.overruled), gold = new Set(items.gold);
  const with_labels = items.n_with_labels || 0, known_skills = items.skill ? items.skill.length : 0;
  const CERTAIN = 0.9, PAGE = 20;
  const starts = [0];  /* where the labels of each item begin */
  for (let i = 0; i < with_labels; i++) starts.push(starts[i] + items.n_labels[i]);

  /* Skill is a probability of being right, or a typical error. */
  const scale = {
    probability: { skill: percent, certainty: percent, better: (a, b) => b - a, head: "right", certaintyHead: "probability", bar: (mean) => mean },
    error: { skill: plusMinus, certainty: plusMinus, better: (a, b) => a - b, head: "typical error", certaintyHead: "uncertainty", bar: (mean, most) => mean / most },
  }[data.scale];
  const is_number = !data.classes.length;

  function shown(value) { return value === null || value === undefined ? "–" : is_number ? digits(value) : String(data.classes[value]); }
  function labels(i) {
    if (i >= with_labels) return null;
    const found = [];
    for (let k = starts[i]; k < starts[i + 1]; k++) {
      const label = items.labels[items.label[k]];
      found.push({ who: called(items.annotators[items.annotator[k]]), label: is_number ? digits(label) : String(label), skill: k < known_skills ? items.skill[k] : null });
    }
    return found.sort((a, b) => (a.skill === null) - (b.skill === null) || (a.skill === null ? 0 : scale.better(a.skill, b.skill)));
  }

  /* --- card ------------------------------------------------------------------------------------- */

  const dialog = element("dialog"), content = element("div"), actions = element("p", undefined, "actions"), close = button("Close", "", () => dialog.close());
  dialog.id = "card"; dialog.setAttribute("aria-labelledby", "card-title");
  dialog.append(content, actions);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  let onMap = () => null;

  function verdict(i) {
    if (items.p.length) {
      const shares = data.classes.map((name, k) => [items.p[k][i], name]).sort((a, b) => b[0] - a[0]);
      return table(["class", "", "probability"], shares.map(([share, name]) => [element("bdi", name), bar(share), amount(percent(share))]));
    }
    return element("p", shown(items.consensus[i]) + " (" + scale.certainty(items.certainty[i]) + ")");
  }
  function voices(i) {
    const given = labels(i);
    if (given === null) return element("p", "Its " + items.n_labels[i] + " labels are not on this page, which would be too large.", "note");
    if (!given.length) return element("p", gold.has(i) ? "No labels." : "No labels: the consensus is predicted from the features.");
    const skills = given.some((each) => each.skill !== null);
    return table(["annotator", "label", ...(skills ? [scale.head] : [])], given.map((each) => [
      element("bdi", each.who), element("bdi", each.label), ...(skills ? [amount(each.skill === null ? "–" : scale.skill(each.skill))] : [])]));
  }
  function open(i) {
    const title = element("h3", items.id[i]), why = (items.why || {})[i];
    title.id = "card-title"; title.dir = "auto";
    content.replaceChildren(title);
    if (items.text && items.text[i]) { const text = element("p", items.text[i], "text"); text.dir = "auto"; content.append(text); }
    if (gold.has(i)) content.append(element("p", "Gold: the true label of this item was given.", "gold"));
    content.append(element("h4", "Consensus"), verdict(i), element("h4", "Labels"), voices(i));
    if (given_skills(i)) content.append(element("p", is_number ? "Typical error of the annotator on items like this one." : "Right: how often the model expects the annotator to be right on items like this one.", "note"));
    if (overruled.has(i) && !gold.has(i)) content.append(element("h4", "Why not “" + shown(items.vote[i]) + "”"), element("p", why || "The model weights each label by the skill of its annotator on items like this one, and takes the features into account."));
    const show = onMap(i);
    const more = data.pages ? [pageLink(i, "Open the page of this item")] : [];
    actions.replaceChildren(close, ...(show ? [button("Show on the map", "", () => { dialog.close(); show(); })] : []), ...more);
    dialog.showModal();
  }
  function given_skills(i) { return i < with_labels && starts[i] < known_skills && items.n_labels[i] > 0; }
  function pageLink(i, text) { const made = element("a", text); made.href = data.pages + encodeURIComponent(items.id[i]); return made; }
  function link(i) {
    const made = data.pages ? pageLink(i) : button(undefined, "link", () => open(i));
    made.append(element("bdi", items.id[i]));
    return made;
  }

  /* Items that are named elsewhere on the page. */
  const place = new Map(items.id.map((id, i) => [String(id), i]));
  document.querySelectorAll("[data-item]").forEach((named) => {
    const i = place.get(named.dataset.item);
    if (i !== undefined) named.replaceChildren(link(i));
  });

  /* --- table ------------------------------------------------------------------------------------ */

  const list = document.getElementById("items");
  const which = {
    all: () => true, labelled: (i) => items.n_labels[i] > 0, unlabelled: (i) => !items.n_labels[i],
    overruled: (i) => overruled.has(i), uncertain: (i) => items.certainty[i] < CERTAIN, gold: (i) => gold.has(i),
  };
  const choices = [["all", "all items"], ["labelled", "with labels"], ["unlabelled", "without labels"], ["overruled", "vote overruled"],
    ...(is_number ? [] : [["uncertain", "below 90%"]]), ...(gold.size ? [["gold", "gold"]] : [])];
  const classes = [["", "any"], ...data.classes.map((name, k) => [String(k), name])];
  const filters = [["Show", choices, (value, i) => which[value](i)],
    ...(is_number ? [] : [["Consensus", classes, (value, i) => value === "" || Number(value) === items.consensus[i]]])];

  function row(i) {
    const cell = element("div", undefined, "item"), marks = [overruled.has(i) ? "yes" : ""];
    cell.append(link(i));
    if (gold.has(i)) cell.append(element("span", "gold", "gold"));
    if (items.text && items.text[i]) { const text = element("span", items.text[i], "text"); text.dir = "auto"; cell.append(text); }
    return line([cell, element("bdi", shown(items.consensus[i])), amount(scale.certainty(items.certainty[i])), amount(whole(items.n_labels[i])),
      items.vote[i] === null ? "–" : element("bdi", shown(items.vote[i])), ...marks, ...items.p.map((column) => amount(percent(column[i])))]);
  }
  function key(i, j) {
    const value = (column) => column[i] === null ? "" : is_number ? column[i] : shown(column[i]);
    return [() => items.id[i], () => value(items.consensus), () => items.certainty[i], () => items.n_labels[i],
      () => value(items.vote), () => overruled.has(i) ? 0 : 1, ...items.p.map((column) => () => column[i])][j]();
  }
  if (list) grid(list, PAGE, { n, row, key, text: (i) => items.id[i] + " " + ((items.text && items.text[i]) || "") + " " + shown(items.consensus[i]) }, filters);

  return { items, scale, labels, shown, open, link, overruled, gold, is_number, whenOnMap: (find) => { onMap = find; } };
})();
