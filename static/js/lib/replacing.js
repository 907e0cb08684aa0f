// Replaces a part of the page without taking away where the person is in it: source cards that
// were opened stay open, and the focus moves to the same control or to the nearest one.

export function replaceKeepingPlace(element, html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const next = holder.content.firstElementChild;
  keepOpen(element, next);
  const hadFocus = element.contains(document.activeElement);
  const focused = hadFocus ? document.activeElement.closest("[id]")?.id : "";
  element.replaceWith(next);
  if (hadFocus) focusIn(document.getElementById(focused) ?? next);
}

export function focusIn(part) {
  const control = part.matches("a, button, summary") ? part : part.querySelector("summary, button, a[href]");
  control?.focus({ preventScroll: true });
}

// The passages that a card shows stay until the new ones are here.
function keepOpen(old, next) {
  for (const details of old.querySelectorAll(".source details[open]")) {
    const card = details.closest(".source");
    const same = next.querySelector(`#${CSS.escape(card.id)}`);
    if (!same) continue;
    same.classList.toggle("is-target", card.classList.contains("is-target"));
    same.querySelector(".source-body").replaceChildren(...details.querySelector(".source-body").childNodes);
    same.querySelector("details").open = true;
    const hidden = same.closest("details.other-sources");
    if (hidden) hidden.open = true;
  }
}
