// Loads the page again every few seconds while it is visible, and replaces its <main>. Focus and open
// details stay. A page with input in a form stays as it is. If the page cannot be loaded, it says so.
(() => {
  "use strict";

  const usual = 5_000;
  const longest = 60_000;
  const patience = 30_000;
  const fields = "input:not([type=hidden]), select, textarea";
  let wait = usual;
  let timer = 0;
  let loading = false;
  let loadedAt = Date.now();
  let shown = document.querySelector("main").innerHTML;

  const isChanged = (field) => {
    if (field.type === "checkbox") return field.checked !== field.defaultChecked;
    if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
    return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
  };

  // isInUse reports whether somebody types, chooses or has selected text.
  const isInUse = (main) =>
    [...main.querySelectorAll(fields)].some((field) => field === document.activeElement || isChanged(field)) ||
    !(document.getSelection()?.isCollapsed ?? true);

  // nameOf returns what an element has in common with the same element of the next page.
  const nameOf = (element) =>
    [element.tagName, element.id, element.closest("[id]")?.id, element.href ?? element.textContent].join("|");

  // showAge says if the page is older than patience.
  const showAge = () => {
    const notice = document.getElementById("stale");
    notice.hidden = Date.now() - loadedAt < patience;
    if (!notice.hidden && !notice.textContent) {
      const since = new Date(loadedAt).toISOString().slice(0, 19).replace("T", " ");
      notice.textContent = `This page is from ${since}. It cannot be loaded again now.`;
    }
    if (notice.hidden) notice.textContent = "";
  };

  const replace = (text) => {
    const main = document.querySelector("main");
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.querySelector("body.console main");
    if (!fresh) throw new Error("no page of the console");
    if (fresh.innerHTML !== shown && isInUse(main)) return;
    if (!page.querySelector("script[src='/live.js']")) {
      wait = Infinity;
      document.querySelector("footer").replaceWith(page.querySelector("footer"));
    }
    if (fresh.innerHTML === shown) return;
    shown = fresh.innerHTML;
    for (const details of main.querySelectorAll("details[open][id]")) page.getElementById(details.id)?.setAttribute("open", "");
    const focused = main.contains(document.activeElement) ? nameOf(document.activeElement) : "";
    main.replaceWith(document.adoptNode(fresh));
    if (focused) [...fresh.querySelectorAll("a, button, summary")].find((e) => nameOf(e) === focused)?.focus({ preventScroll: true });
  };

  const load = async () => {
    loading = true;
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: "text/html", "Herald-Refresh": "1" },
        redirect: "error",
        signal: AbortSignal.timeout(30_000),
      });
      if (!answer.ok) throw new Error(answer.status);
      wait = usual;
      replace(await answer.text());
      loadedAt = Date.now();
    } catch {
      wait = Math.min(wait * 2, longest);
    }
    showAge();
    loading = false;
    plan();
  };

  const plan = () => {
    clearTimeout(timer);
    if (!document.hidden && wait < Infinity) timer = setTimeout(load, wait * (1 + Math.random() / 4));
  };

  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden && !loading && wait === usual) load();
    else if (!loading) plan();
  });
  plan();
})();
