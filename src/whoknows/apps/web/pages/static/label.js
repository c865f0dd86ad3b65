"use strict";
/* Labelling with the keyboard: answers are sent while the next item, fetched in advance, is already on the screen. */
document.documentElement.classList.add("script");
(function () {
  const form = document.getElementById("label"), answers = document.querySelector(".answers"), message = document.getElementById("message");
  if (!form) return;
  const annotator = form.elements.as.value, csrf = form.elements.csrf.value, AGAIN = 2000;
  const number = form.querySelector("input[type=number]"), skipping = form.querySelector("[name=act][value=skip]");
  const history = [];  /* items that were answered or skipped here, the last one at the end */
  const waiting = [];  /* requests that the server has not acknowledged */
  let task = document.getElementById("task"), n_done = Number(document.getElementById("done").textContent.replace(/\s/g, ""));
  let busy = false, sending = false, ahead = null;

  function requestId() { return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(""); }

  /* --- items ------------------------------------------------------------------------------------ */

  async function fetched(query) {
    const asked = new URLSearchParams([["as", annotator], ...query]);
    const answer = await fetch(form.dataset.next + "?" + asked, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(await explanation(answer));
    return document.adoptNode(new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("task"));
  }
  function prefetch() {  /* not the one on the screen, nor one whose answer is on its way */
    const others = [task.dataset.item, ...waiting.map((each) => each.item)].filter(Boolean);
    ahead = task.dataset.item ? fetched(others.map((key) => ["not", key])) : null;
    if (ahead) ahead.catch(() => {});  /* told when it is needed */
  }
  function show(fresh) {
    task.replaceWith(fresh);
    task = fresh;
    answers.hidden = skipping.hidden = !task.dataset.item;
    count();
    if (number) number.value = "";
    window.scrollTo(0, 0);
    (number && task.dataset.item ? number : task).focus({ preventScroll: true });
    prefetch();
  }
  function count() {  /* the item was fetched before the last answers were given */
    const done = document.getElementById("done");
    done.textContent = String(n_done).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    task.querySelector(".thin rect").setAttribute("width", 100 * n_done / Number(done.dataset.of) + "%");
  }
  async function advance() {
    busy = true;
    try { show(await (ahead || fetched([]))); } catch (error) { say(error.message); ahead = null; } finally { busy = false; }
  }

  /* --- answers ---------------------------------------------------------------------------------- */

  function say(text) { message.textContent = text; }
  async function explanation(answer) {
    try { return (await answer.json()).detail || answer.statusText; } catch (error) { return "The server answered " + answer.status + "."; }
  }
  async function send() {  /* one after the other; what cannot be sent waits and is sent again: requests have ids */
    if (sending) return;
    sending = true;
    while (waiting.length) {
      const { address, body } = waiting[0];
      try {
        const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf }, body: JSON.stringify(body) });
        if (answer.status >= 500) throw new Error(answer.statusText);
        const refused = waiting.shift();
        say(answer.ok ? "" : refused.item + " was not stored: " + await explanation(answer));
      } catch (error) {
        say("Not stored yet: the server does not answer. Trying again.");
        await new Promise((wake) => window.setTimeout(wake, AGAIN));
      }
    }
    sending = false;
  }
  function request(address, body) { waiting.push({ address, body, item: body.item }); send(); }

  function answer(label) {
    if (busy || !task.dataset.item) return;
    request(form.dataset.annotations, { item: task.dataset.item, annotator, label, request_id: requestId() });
    history.push({ item: task.dataset.item, act: "label" });
    n_done += 1;
    advance();
  }
  function skip() {
    if (busy || !task.dataset.item) return;
    request(form.dataset.skips, { item: task.dataset.item, annotator });
    history.push({ item: task.dataset.item, act: "skip" });
    advance();
  }
  async function undo() {
    if (busy) return;
    const last = history.pop();
    if (!last) { say("There is nothing to take back."); return; }
    if (last.act === "label") {
      n_done -= 1;
      request(form.dataset.annotations, { item: last.item, annotator, label: null, request_id: requestId() });
    }
    busy = true;
    try {
      show(await fetched([["item", last.item]]));
      say("Answer again: your last " + (last.act === "skip" ? "skip" : "answer") + " was taken back.");
    } catch (error) { say(error.message); } finally { busy = false; }
  }

  /* --- what an annotator does ------------------------------------------------------------------- */

  form.addEventListener("submit", (event) => {
    const pressed = event.submitter;
    event.preventDefault();
    if (pressed && pressed.name === "act") { if (pressed.value === "skip") skip(); else undo(); }
    else if (pressed && pressed.name === "label") answer(pressed.value);
    else if (number && number.value !== "") answer(number.value);
  });
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") { event.preventDefault(); undo(); return; }
    if (event.ctrlKey || event.metaKey || (event.target === number && !/^[su]$/i.test(event.key))) return;
    const pressed = form.querySelector('[aria-keyshortcuts="' + CSS.escape(event.key.toLowerCase()) + '"]');
    if (pressed) { event.preventDefault(); form.requestSubmit(pressed); }
  });
  window.addEventListener("beforeunload", (event) => { if (waiting.length) event.preventDefault(); });
  prefetch();
})();
