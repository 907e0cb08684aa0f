// Applies what the server puts where. Every put can come twice without harm, except appended
// text, whose events are counted by `seq` before they reach this module.

export function applyPuts(answer, puts) {
  for (const put of puts) APPLY[put[0]]?.(answer, ...put.slice(1));
}

const APPLY = {
  text(answer, block, text) {
    growing(answer, block).append(text);
  },
  block(answer, block, html) {
    const element = growing(answer, block);
    element.classList.remove("growing");
    element.innerHTML = html;
  },
  blocks(answer, from) {
    for (const element of [...answer.children]) {
      if (Number(element.dataset.block) >= from) element.remove();
    }
  },
  set(answer, id, html) {
    const element = document.getElementById(id);
    if (element) element.outerHTML = html;
  },
  add(answer, id, html) {
    document.getElementById(id)?.insertAdjacentHTML("beforeend", html);
  },
  now(answer, text) {
    const element = document.getElementById(answer.id.replace("answer", "now"));
    if (element) element.textContent = text;
  },
};

function growing(answer, block) {
  let element = answer.querySelector(`:scope > [data-block="${block}"]`);
  if (!element) {
    element = document.createElement("div");
    element.className = "block growing";
    element.dataset.block = block;
    answer.append(element);
  }
  return element;
}
