// Changes of filters and order without loading the page anew: the server's answer is the whole page, and its parts are put in place.
// Every address works without this script, too.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const parser = new DOMParser();
  let pending = null;

  // What was open and where the reader was, by id; a menu's heading has that of its menu.
  const named = (item) => item && (item.id || (item.tagName === "SUMMARY" && item.parentElement.id));
  const remember = () => ({
    open: Array.from(document.querySelectorAll("details[id][open]"), (item) => item.id),
    focus: named(document.activeElement),
  });
  const restore = ({ open, focus }) => {
    for (const id of open) if ($(id)) $(id).open = true;
    const place = focus && $(focus) && ($(focus).tagName === "DETAILS" ? $(focus).querySelector("summary") : $(focus));
    if (place && document.activeElement !== place) place.focus({ preventScroll: true });
  };

  const put = (page, keepForm) => {
    const before = remember();
    const parts = ["mast", "view"];
    const menus = page.querySelectorAll("#filters summary");
    if (!$("filters") || !page.getElementById("filters")) parts.push("filter-place");
    else if (!keepForm) parts.push("filters");
    for (const id of parts) if ($(id) && page.getElementById(id)) $(id).replaceWith(document.adoptNode(page.getElementById(id)));
    if (keepForm) {
      for (const fresh of menus) {
        const menu = $(fresh.parentElement.id);
        if (!menu) continue;
        menu.className = fresh.parentElement.className;
        menu.querySelector("summary").textContent = fresh.textContent;
      }
    }
    document.title = page.title;
    document.body.dataset.revision = page.body.dataset.revision;
    restore(before);
    ready();
    $("said").textContent = $("view").dataset.said || "";
  };

  const go = async (url, { push = true, keepForm = false, top = false } = {}) => {
    if (pending) pending.abort();
    pending = new AbortController();
    $("view").setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(url, { signal: pending.signal, headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (!(answer.headers.get("content-type") || "").startsWith("text/html")) throw new Error("not a page");
      put(parser.parseFromString(text, "text/html"), keepForm);
      if (push) history.pushState(null, "", url);
      if (top) { scrollTo(0, 0); $("view").focus({ preventScroll: true }); }
      document.body.dispatchEvent(new CustomEvent("kcbench:shown"));
    } catch (error) {
      if (error.name === "AbortError") return;
      location.assign(url);
    }
  };

  // One word a filter, its values joined by commas, as links have it.
  const address = (form) => {
    const query = new Map();
    for (const [name, value] of new FormData(form)) if (value) query.set(name, query.has(name) ? `${query.get(name)},${value}` : value);
    const text = new URLSearchParams([...query]).toString();
    return form.getAttribute("action") + (text ? `?${text}` : "");
  };

  let timer = 0;
  const submit = (form, wait) => {
    clearTimeout(timer);
    timer = setTimeout(() => go(address(form), { keepForm: form.id === "filters" }), wait);
  };
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (form && form.dataset.live !== undefined) submit(form, event.target.type === "search" ? 180 : 0);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.live === undefined) return;
    event.preventDefault();
    submit(event.target, 0);
  });
  document.addEventListener("click", (event) => {
    const copy = event.target.closest("button.copy");
    if (copy) {
      const text = $(copy.dataset.copies).textContent;
      navigator.clipboard.writeText(text).then(() => {
        const name = copy.textContent;
        copy.textContent = "Copied";
        setTimeout(() => { copy.textContent = name; }, 1500);
      });
      return;
    }
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    const anchor = event.target.closest("a[data-live]");
    if (!anchor || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const url = anchor.getAttribute("href");
    go(url, { top: new URL(url, location.href).pathname !== location.pathname });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.activeElement && document.activeElement.closest("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });
  document.addEventListener("focusout", (event) => {
    const menu = event.target.closest && event.target.closest("details.menu[open]");
    if (menu && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  addEventListener("popstate", () => go(location.href, { push: false }));

  // New results show by themselves, unless the reader is in the middle of a form.
  const look = async () => {
    if (document.hidden || document.querySelector("details.menu[open]") || document.querySelector("form[method=post]")) return;
    try {
      const { revision } = await (await fetch("/fresh", { cache: "no-store" })).json();
      if (revision !== document.body.dataset.revision) await go(location.href, { push: false });
    } catch { /* The server is away: the page stays as it is. */ }
  };
  setInterval(look, 15000);
  document.addEventListener("visibilitychange", look);

  const ready = () => {
    for (const button of document.querySelectorAll("button.copy")) button.hidden = !navigator.clipboard;
  };
  document.documentElement.classList.add("scripted");
  ready();
})();
