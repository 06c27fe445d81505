// The page reads itself again every 2 seconds and shows what is new. A part that somebody uses stays
// as it is. Without this script the whole page reloads.

const used = (part) => part.contains(document.activeElement) || (!getSelection().isCollapsed && part.contains(getSelection().anchorNode));

async function renew() {
  const answer = document.hidden ? null : await fetch(location.href, { cache: "no-store" }).catch(() => null);
  if (answer?.ok) {
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll(".live")) {
      const next = fresh.getElementById(part.id);
      if (next && !used(part) && next.innerHTML !== part.innerHTML) part.innerHTML = next.innerHTML;
    }
  }
  setTimeout(renew, 2_000);
}

setTimeout(renew, 2_000);
