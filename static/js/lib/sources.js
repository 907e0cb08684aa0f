// Source cards: filled when they are opened; a citation opens its card, wherever it is hidden.

export function enableSources() {
  document.addEventListener("toggle", onToggle, true);
  document.addEventListener("click", onClick);
}

export async function fetchFragment(url) {
  const response = await fetch(url, { headers: { "X-Fragment": "1" }, credentials: "same-origin" });
  if (!response.ok) throw new Error(`${response.status}`);
  return response.text();
}

function onToggle(event) {
  const details = event.target;
  if (details.open && details.dataset.fill) fill(details);
}

async function fill(details) {
  const url = details.dataset.fill;
  delete details.dataset.fill;
  try {
    const html = await fetchFragment(url);
    details.querySelector(".source-body").innerHTML = html;
  } catch {
    details.dataset.fill = url;
  }
}

function onClick(event) {
  const badge = event.target.closest("a.citation");
  if (!badge || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const card = document.getElementById(badge.hash.slice(1));
  if (!card) return;
  event.preventDefault();
  openCard(card);
}

function openCard(card) {
  const hidden = card.closest("details.other-sources");
  if (hidden) hidden.open = true;
  const details = card.querySelector("details");
  details.open = true;
  for (const other of document.querySelectorAll(".source.is-target")) other.classList.remove("is-target");
  card.classList.add("is-target");
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  card.scrollIntoView({ block: "nearest", behavior: calm ? "instant" : "smooth" });
  details.querySelector("summary").focus({ preventScroll: true });
}
