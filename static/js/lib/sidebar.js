// The list of conversations: kept fresh, and a drawer where the window is narrow.

import { fetchFragment } from "./sources.js";

const NARROW = matchMedia("(max-width: 52rem)");

export function enableSidebar() {
  const button = document.querySelector("[data-toggles=sidebar]");
  if (!button) return;
  button.addEventListener("click", () => setOpen(!isOpen()));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !isOpen() || event.defaultPrevented) return;
    setOpen(false);
    button.focus();
  });
  NARROW.addEventListener("change", () => setOpen(false));
}

export async function refreshSidebar(conversation) {
  const sidebar = document.getElementById("sidebar");
  try {
    const html = await fetchFragment(`/sidebar/?conversation=${encodeURIComponent(conversation)}`);
    if (sidebar.contains(document.activeElement) || sidebar.querySelector("details[open]")) return;
    const list = sidebar.querySelector("#conversations");
    const top = list?.scrollTop ?? 0;
    sidebar.innerHTML = html;
    sidebar.querySelector("#conversations").scrollTop = top;
  } catch {
    return; // The list is refreshed with the next answer.
  }
  const title = sidebar.querySelector("[aria-current]")?.textContent;
  if (title) document.title = `${title} · Lumina`;
}

function isOpen() {
  return document.getElementById("sidebar").classList.contains("is-open");
}

// What lies under the open drawer cannot be reached by Tab.
function setOpen(open) {
  const sidebar = document.getElementById("sidebar");
  sidebar.classList.toggle("is-open", open);
  document.querySelector("[data-toggles=sidebar]").setAttribute("aria-expanded", String(open));
  document.getElementById("main").inert = open;
  if (open) sidebar.querySelector("a:not(.sidebar-head *)")?.focus();
}
