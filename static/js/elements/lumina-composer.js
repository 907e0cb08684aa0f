// The question box: sends on Enter, keeps a draft, shows Stop while an answer is being written.

const BUSY = "An answer is still being written. Stop it first, or wait for its end.";

class LuminaComposer extends HTMLElement {
  #abort = null;
  #path = location.pathname;

  connectedCallback() {
    this.#abort = new AbortController();
    const options = { signal: this.#abort.signal };
    this.#text.addEventListener("keydown", (event) => this.#onKey(event), options);
    this.#text.addEventListener("input", () => this.#onInput(), options);
    const draft = sessionStorage.getItem(this.#draftKey);
    if (draft && !this.#text.value) this.#text.value = draft;
    this.#grow();
  }

  disconnectedCallback() {
    this.#abort.abort();
  }

  // Ask and Stop take each other's place; whoever had the focus on one is not left without it.
  set busy(busy) {
    const hidden = busy ? this.#send : this.#stop;
    const hadFocus = document.activeElement === hidden;
    this.#send.hidden = busy;
    this.#stop.hidden = !busy;
    if (hadFocus) this.takeFocus();
  }

  // On a touch screen the focus in the box would open the keyboard over the answer.
  takeFocus() {
    const button = this.#stop.hidden ? this.#send : this.#stop;
    (matchMedia("(pointer: coarse)").matches ? button : this.#text).focus({ preventScroll: true });
  }

  // A question that could not be asked comes back into the box.
  refuse(reason, text) {
    if (text && !this.#text.value) {
      this.#text.value = text;
      this.#onInput();
    }
    this.#error.textContent = reason;
    this.takeFocus();
  }

  // The draft is kept until the server has taken the question.
  clear() {
    this.querySelector(".session-facts").open = false;
    this.#text.value = "";
    this.#error.textContent = "";
    this.#grow();
  }

  // What was chosen for the conversation goes along with every question, also a suggested one.
  facts(names) {
    const fields = new FormData(this.querySelector("form"));
    return Object.fromEntries(names.filter((name) => fields.get(name)).map((name) => [name, fields.get(name)]));
  }

  // The conversation has begun: whether name and style are kept has been answered.
  settleFacts() {
    const question = this.querySelector(".keep-facts");
    if (question && !question.querySelector("[name=keep]").checked) {
      for (const field of this.querySelectorAll("[name=name], [name=style]")) field.value = "";
    }
    question?.remove();
  }

  keepDraft() {
    if (this.#text.value) sessionStorage.setItem(this.#draftKey, this.#text.value);
    else this.forgetDraft();
  }

  forgetDraft() {
    sessionStorage.removeItem(this.#draftKey);
  }

  // The page has become that of a conversation, which has a draft of its own.
  moveTo(path) {
    this.forgetDraft();
    this.#path = path;
    history.replaceState(null, "", path);
  }

  get #text() {
    return this.querySelector("textarea");
  }

  get #send() {
    return this.querySelector("[type=submit]");
  }

  get #stop() {
    return this.querySelector("[data-stop]");
  }

  get #error() {
    return this.querySelector("#composer-error");
  }

  get #draftKey() {
    return `draft:${this.#path}`;
  }

  // While a Chinese or Japanese word is being composed, Enter belongs to the input method.
  #onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (!this.#text.value.trim()) return;
    if (this.#send.hidden) this.#error.textContent = BUSY;
    else this.querySelector("form").requestSubmit();
  }

  #onInput() {
    this.#error.textContent = "";
    this.keepDraft();
    this.#grow();
  }

  #grow() {
    if (CSS.supports("field-sizing", "content")) return;
    this.#text.style.blockSize = "auto";
    this.#text.style.blockSize = `${this.#text.scrollHeight}px`;
  }
}

customElements.define("lumina-composer", LuminaComposer);
