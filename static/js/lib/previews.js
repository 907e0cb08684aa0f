// What a citation rests on, shown beside it on hover and on focus.

import { fetchFragment } from "./sources.js";

const DELAY_MS = 120;
const CLAIM_CHARS = 300;
const cache = new Map();
let preview = null;
let timer = 0;
let shownFor = null;

export function enablePreviews() {
  document.addEventListener("pointerover", (event) => {
    // A finger that touches a citation opens its card.
    if (event.pointerType !== "touch") consider(event.target, DELAY_MS);
  });
  document.addEventListener("focusin", (event) => consider(event.target, 0));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

function consider(target, delay) {
  if (preview?.contains(target)) {
    clearTimeout(timer);
    return;
  }
  const badge = target.closest?.("a.citation");
  clearTimeout(timer);
  if (badge && badge === shownFor) return;
  timer = setTimeout(() => (badge ? show(badge) : hide()), badge ? delay : 200);
}

async function show(badge) {
  const answer = badge.closest(".answer");
  if (!answer) return;
  const base = `${answer.dataset.sources}${badge.dataset.source}/?preview=1`;
  const url = `${base}&claim=${encodeURIComponent(claimBefore(badge))}`;
  let html = cache.get(url);
  if (html === undefined) {
    try {
      html = await fetchFragment(url);
      cache.set(url, html);
    } catch {
      return;
    }
  }
  if (!badge.isConnected) return;
  place(badge, html);
}

// The words of the block up to the badge: the server looks for the passage that holds them.
function claimBefore(badge) {
  const block = badge.closest("p, li, td, th, blockquote, h1, h2, h3, h4, h5, h6, .block") ?? badge;
  const range = document.createRange();
  range.setStart(block, 0);
  range.setEndBefore(badge);
  return range.toString().slice(-CLAIM_CHARS);
}

function place(badge, html) {
  hide();
  preview = document.createElement("div");
  preview.className = "preview";
  preview.id = "citation-preview";
  preview.setAttribute("role", "tooltip");
  preview.innerHTML = html;
  document.body.append(preview);
  badge.setAttribute("aria-describedby", preview.id);
  shownFor = badge;
  const at = badge.getBoundingClientRect();
  const size = preview.getBoundingClientRect();
  const left = Math.max(16, Math.min(at.left, document.documentElement.clientWidth - size.width - 16));
  const below = at.bottom + size.height + 12 < innerHeight;
  const top = below ? at.bottom + 6 : Math.max(8, at.top - size.height - 6);
  preview.style.insetInlineStart = `${left + scrollX}px`;
  preview.style.insetBlockStart = `${top + scrollY}px`;
}

function hide() {
  clearTimeout(timer);
  preview?.remove();
  shownFor?.removeAttribute("aria-describedby");
  preview = shownFor = null;
}
