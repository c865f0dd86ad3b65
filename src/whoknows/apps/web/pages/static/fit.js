"use strict";
/* While a fit is queued or running, its progress is fetched again and again; when it ends, the page shows the new results. */
(function () {
  const EVERY = 700, OPEN = ["queued", "running"];
  const shown = document.getElementById("fit");
  if (!shown || !OPEN.includes(shown.dataset.state)) return;
  const status = shown.querySelector("[role=status]");

  function update(fresh) {
    const text = fresh.querySelector("[role=status]").textContent;
    if (status.textContent !== text) status.textContent = text;  /* the same element: screen readers hear the change */
    if (shown.classList.contains("status")) return;
    const parts = Array.from(fresh.children).filter((part) => part.getAttribute("role") !== "status" && part.tagName !== "FORM");
    Array.from(shown.children).forEach((part) => { if (part !== status && part.tagName !== "FORM") part.remove(); });
    status.after(...parts);  /* the button to cancel stays, with its focus */
  }
  async function look() {
    try {
      const answer = await fetch(shown.dataset.source, { headers: { Accept: "text/html" } });
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("fit");
        if (!OPEN.includes(fresh.dataset.state)) { window.location.reload(); return; }
        update(fresh);
      }
    } catch (error) {
      status.textContent = "The server does not answer. Trying again.";
    }
    window.setTimeout(look, EVERY);
  }
  window.setTimeout(look, EVERY);
})();
