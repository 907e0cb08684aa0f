// The question box: sends on Enter, keeps a draft, shows Stop while an answer is being written.

import { DRAFT_KEY } from "../lib/drafts.js";

class LuminaComposer extends HTMLElement {
  #abort = null;

  connectedCallback() {
    this.#abort = new AbortController();
    const options = { signal: this.#abort.signal };
    this.#text.addEventListener("keydown", (event) => this.#onKey(event), options);
    this.#text.addEventListener("input", () => this.#onInput(), options);
    const draft = sessionStorage.getItem(DRAFT_KEY(location.pathname));
    if (draft && !this.#text.value) this.#text.value = draft;
    this.#grow();
  }

  disconnectedCallback() {
    this.#abort.abort();
  }

  get form() {
    return this.querySelector("form");
  }

  get #text() {
    return this.querySelector("textarea");
  }

  set busy(busy) {
    this.querySelector("[type=submit]").hidden = busy;
    this.querySelector("[data-stop]").hidden = !busy;
  }

  // A question that could not be asked comes back into the box.
  refuse(reason, text) {
    this.querySelector("#composer-error").textContent = reason;
    if (text && !this.#text.value) {
      this.#text.value = text;
      this.#onInput();
    }
    this.#text.focus();
  }

  clear() {
    this.#text.value = "";
    this.querySelector("#composer-error").textContent = "";
    this.#onInput();
  }

  // While a Chinese or Japanese word is being composed, Enter belongs to the input method.
  #onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (this.#text.value.trim() && !this.querySelector("[type=submit]").hidden) this.form.requestSubmit();
  }

  #onInput() {
    this.querySelector("#composer-error").textContent = "";
    if (this.#text.value) sessionStorage.setItem(DRAFT_KEY(location.pathname), this.#text.value);
    else sessionStorage.removeItem(DRAFT_KEY(location.pathname));
    this.#grow();
  }

  #grow() {
    if (CSS.supports("field-sizing", "content")) return;
    this.#text.style.blockSize = "auto";
    this.#text.style.blockSize = `${this.#text.scrollHeight}px`;
  }
}

customElements.define("lumina-composer", LuminaComposer);
