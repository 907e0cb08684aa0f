// Small behaviours that any page may ask for by a data attribute.

export function enablePageControls() {
  document.addEventListener("click", onClick);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("keydown", onKey);
  document.addEventListener("toggle", onToggle, true);
}

function onClick(event) {
  const target = event.target.closest("[data-theme-toggle], [data-copies], [data-closes], .copy-code");
  closeMenus(event.target);
  if (!target) return;
  if (target.matches("[data-theme-toggle]")) switchTheme();
  else if (target.matches("[data-closes]")) closeDetails(target);
  else copy(target);
}

function onSubmit(event) {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
  else addToken(event.target);
}

// What came over the socket has no token of the session; the question box has it.
function addToken(form) {
  if (form.method !== "post" || form.elements.csrfmiddlewaretoken) return;
  const token = document.querySelector("[name=csrfmiddlewaretoken]");
  if (token) form.append(token.cloneNode());
}

function onKey(event) {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape") {
    const open = event.target.closest?.("details.edit[open], details.item-menu[open]");
    if (!open) return;
    event.preventDefault();
    closeDetails(open.querySelector("summary"));
  } else if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
    openSearch(event);
  } else if (typing || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  } else if (event.key === "n") {
    const link = document.querySelector(".new-question");
    if (!link) return;
    event.preventDefault();
    link.click();
  } else if (event.key === "/") {
    const question = document.getElementById("question") ?? document.getElementById("q");
    if (!question) return;
    event.preventDefault();
    question.focus();
  }
}

function openSearch(event) {
  const words = document.getElementById("q");
  const link = document.querySelector("[data-search]");
  if (!words && !link) return;
  event.preventDefault();
  if (words) words.select();
  else location.assign(link.href);
}

// Who opens a form wants to write in it, and to see all of it.
function onToggle({ target }) {
  if (!target.open || !target.matches("details.edit, details.item-menu")) return;
  const field = target.querySelector("textarea, input:not([type=hidden])");
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
  field.form.parentElement.scrollIntoView({ block: "nearest", behavior: "instant" });
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

function closeDetails(inside) {
  const details = inside.closest("details");
  details.open = false;
  details.querySelector("summary")?.focus();
}

function closeMenus(clicked) {
  for (const menu of document.querySelectorAll("details.item-menu[open]")) {
    if (!menu.contains(clicked)) menu.open = false;
  }
}

async function copy(button) {
  const text = button.matches(".copy-code")
    ? button.closest(".code").querySelector("pre").textContent
    : answerText(document.getElementById(button.dataset.copies));
  const label = button.querySelector("span") ?? button;
  const said = (await copied(text)) ? "Copied" : "Not copied";
  label.textContent = said;
  setTimeout(() => (label.textContent = "Copy"), 1600);
  const status = document.getElementById("said");
  if (status) status.textContent = said;
}

// Plain text of an answer: badges become their bracketed numbers.
function answerText(answer) {
  const copy = answer.cloneNode(true);
  for (const badge of copy.querySelectorAll(".citation")) badge.replaceWith(`[${badge.dataset.source}]`);
  for (const mark of copy.querySelectorAll(".unsupported")) mark.replaceWith(`(${mark.lastChild.data})`);
  for (const button of copy.querySelectorAll("button")) button.remove();
  copy.hidden = false;
  copy.className = "answer unseen";
  document.body.append(copy);
  const text = copy.innerText;
  copy.remove();
  return text;
}

// The clipboard API needs a secure context, which a plain address in a home network is not.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
