// Applies what the server puts where. Every put can come twice without harm, except appended
// text, whose events are counted by `seq` before they reach this module.

import { decorate } from "./decorations.js";
import { replaceKeepingPlace } from "./replacing.js";

const KIND_CHARS = 16;
const KINDS = [
  ["heading", /^#{1,6}\s/],
  ["code", /^ {0,3}(```|~~~)/],
  ["table", /^ {0,3}\|/],
  ["quote", /^ {0,3}>/],
];

export function applyPuts(answer, puts) {
  for (const put of puts) APPLY[put[0]]?.(answer, ...put.slice(1));
}

// Brings the growing block of a page that was loaded in the middle of an answer to the state it
// would have, had its text arrived piece by piece.
export function resumeGrowing(turn) {
  for (const element of turn.querySelectorAll(".growing")) {
    const text = element.textContent;
    element.textContent = "";
    grow(element, text);
  }
}

const APPLY = {
  text(answer, block, text) {
    grow(blockOf(answer, block), text);
  },
  block(answer, block, html) {
    const element = blockOf(answer, block);
    element.classList.remove("growing");
    delete element.dataset.kind;
    delete element.dataset.held;
    element.innerHTML = html;
    decorate(element);
  },
  blocks(answer, from) {
    for (const element of [...answer.children]) {
      if (Number(element.dataset.block) >= from) element.remove();
    }
  },
  set(answer, id, html) {
    const element = document.getElementById(id);
    if (element) replaceKeepingPlace(element, html);
  },
  add(answer, id, html) {
    document.getElementById(id)?.insertAdjacentHTML("beforeend", html);
  },
  now(answer, text) {
    const element = document.getElementById(answer.id.replace("answer", "now"));
    if (element) element.textContent = text;
  },
};

function blockOf(answer, block) {
  let element = answer.querySelector(`:scope > [data-block="${block}"]`);
  if (!element) {
    element = document.createElement("div");
    element.className = "block growing";
    element.dataset.block = block;
    answer.append(element);
  }
  return element;
}

// White space at the end waits for what follows it: the empty lines after a paragraph are no part
// of its height, and the page must not jump when the block is closed.
function grow(element, text) {
  const waiting = (element.dataset.held ?? "") + text;
  const shown = waiting.trimEnd();
  element.dataset.held = waiting.slice(shown.length);
  element.append(shown);
  if (element.textContent.length < KIND_CHARS + shown.length) markKind(element);
}

function markKind(element) {
  const start = element.textContent.slice(0, KIND_CHARS);
  const kind = KINDS.find(([, pattern]) => pattern.test(start));
  if (kind) element.dataset.kind = kind[0];
}
