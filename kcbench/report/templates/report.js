(() => {
  "use strict";
  const table = document.getElementById("table");
  const bodies = Array.from(table.tBodies);
  const find = document.getElementById("find");
  const show = document.getElementById("show");
  const shown = document.getElementById("shown");
  document.querySelector(".tools").hidden = false;

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let visible = 0;
    for (const body of bodies) {
      const d = body.dataset;
      const text = [d.id, d.task, d.language, d.codes].join(" ").toLowerCase();
      const kind = !show.value || d.outcome === show.value || (show.value === "gap" && d.gap === "gap");
      body.hidden = !(kind && words.every((word) => text.includes(word)));
      visible += body.hidden ? 0 : 1;
    }
    shown.textContent = visible === bodies.length ? `${visible} shown` : `${visible} of ${bodies.length} shown`;
  };
  find.addEventListener("input", filter);
  show.addEventListener("change", filter);
  filter();

  const heads = Array.from(table.tHead.rows[0].cells);
  const collator = new Intl.Collator("en", { numeric: true });
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const name = head.dataset.sort;
      const order = (a, b) => collator.compare(a.dataset[name], b.dataset[name]) || collator.compare(a.dataset.id, b.dataset.id);
      bodies.sort((a, b) => (down ? order(b, a) : order(a, b)));
      table.append(...bodies);
    });
  }

  if (navigator.clipboard) {
    for (const button of document.querySelectorAll(".copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  }
})();
