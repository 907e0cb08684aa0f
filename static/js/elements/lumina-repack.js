// The slider of a turn's page: packs the question again while it is moved, without a new page.

const PAUSE_MILLISECONDS = 250;

class LuminaRepack extends HTMLElement {
  #abort = null;
  #asked = null;
  #timer = 0;

  connectedCallback() {
    this.#abort = new AbortController();
    const options = { signal: this.#abort.signal };
    this.#slider.addEventListener("input", () => this.#onMove(), options);
    this.addEventListener("submit", (event) => this.#onSubmit(event), options);
    // It can be moved before this script is here.
    if (this.#slider.value !== this.#slider.defaultValue) this.#onMove();
  }

  disconnectedCallback() {
    this.#abort.abort();
    this.#asked?.abort();
    clearTimeout(this.#timer);
  }

  get #slider() {
    return this.querySelector("input[type=range]");
  }

  get #compared() {
    return this.querySelector("[data-compared]");
  }

  #onMove() {
    const budget = `${Number(this.#slider.value).toLocaleString("en")} tokens`;
    this.querySelector("[data-output]").textContent = budget;
    this.#slider.setAttribute("aria-valuetext", budget);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(`?budget=${this.#slider.value}`), PAUSE_MILLISECONDS);
  }

  #onSubmit(event) {
    event.preventDefault();
    clearTimeout(this.#timer);
    const compares = event.submitter?.matches("[data-compares]");
    this.#ask(compares ? "?compare=newest" : `?budget=${this.#slider.value}`);
  }

  // The newest question alone is answered; one that is still under way is given up.
  async #ask(query) {
    this.#asked?.abort();
    const asked = (this.#asked = new AbortController());
    this.#compared.setAttribute("aria-busy", "true");
    try {
      const html = await fetchText(query, asked.signal);
      this.#compared.innerHTML = html;
      history.replaceState(null, "", query);
      this.#say(this.#compared.querySelector("[data-summary], .fault")?.textContent);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.#say("It could not be packed again. Try once more.");
    }
    this.#compared.removeAttribute("aria-busy");
  }

  #say(text) {
    this.querySelector("[data-said]").textContent = text ?? "";
  }
}

// A refusal comes with its reason as a fragment too.
async function fetchText(query, signal) {
  const headers = { "X-Fragment": "1" };
  const response = await fetch(query, { headers, credentials: "same-origin", signal });
  if (!response.ok && response.status !== 400) throw new Error(`${response.status}`);
  return response.text();
}

customElements.define("lumina-repack", LuminaRepack);
