// Where the page stands while an answer grows. It stays where it is, unless the person has gone
// to the end: then it follows the end until they scroll up again.

const NEAR_END_PX = 40;

export class Scrolling {
  #follows = false;
  #top = 0;
  #own = false;

  constructor(signal) {
    this.#top = document.documentElement.scrollTop;
    addEventListener("scroll", () => this.#onScroll(), { signal, passive: true });
  }

  get isAtEnd() {
    const page = document.documentElement;
    return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR_END_PX;
  }

  // Brings a part of the page to the top of the window, and stays there.
  show(element, { smoothly }) {
    this.#follows = false;
    this.#own = true;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element.scrollIntoView({ block: "start", behavior: smoothly && !calm ? "smooth" : "instant" });
    setTimeout(() => (this.#own = false), smoothly && !calm ? 600 : 50);
  }

  keepUp() {
    if (!this.#follows) return;
    const page = document.documentElement;
    page.scrollTop = page.scrollHeight;
  }

  #onScroll() {
    const page = document.documentElement;
    const down = page.scrollTop > this.#top;
    if (!this.#own) this.#follows = this.isAtEnd && (down || this.#follows);
    this.#top = page.scrollTop;
  }
}
