// What finished HTML gets in the browser: a copy button on code, the keyboard on what scrolls.

export function decorate(root) {
  for (const code of root.querySelectorAll(".code")) addCopyButton(code);
  for (const box of root.querySelectorAll(".code pre, .answer .table, .answer .maths")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}

function addCopyButton(code) {
  if (code.querySelector(".copy-code")) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy-code";
  button.textContent = "Copy";
  button.setAttribute("aria-label", code.dataset.language ? `Copy the ${code.dataset.language} code` : "Copy the code");
  code.append(button);
}
