// Where the page stands while an answer grows. It stays where it is, unless the person has gone
// to the end: then it follows the end until they scroll up again.

const NEAR_END_PX = 40;
// How long the page's own movement may take where the browser does not say that it has ended.
const OWN_MS = 1_500;
const INPUTS = ["wheel", "touchmove", "keydown", "pointerdown"];

export class Scrolling {
  #follows = false;
  #top = 0;
  // As it was last painted: what has come since has not moved the person from the end.
  #height = 0;
  #own = 0;

  constructor(signal) {
    this.#top = document.documentElement.scrollTop;
    const passive = { signal, passive: true };
    addEventListener("scroll", () => this.#onScroll(), passive);
    addEventListener("scrollend", () => this.#endOwn(), passive);
    for (const input of INPUTS) addEventListener(input, () => this.#endOwn(), passive);
    const painted = new ResizeObserver(() => (this.#height = document.documentElement.scrollHeight));
    painted.observe(document.body);
    signal.addEventListener("abort", () => painted.disconnect());
  }

  get isAtEnd() {
    return this.#reaches(document.documentElement.scrollHeight);
  }

  // Brings a part of the page to the top of the window, and stays there.
  show(element, { smoothly }) {
    this.#follows = false;
    this.#endOwn();
    this.#own = setTimeout(() => this.#endOwn(), OWN_MS);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    element.scrollIntoView({ block: "start", behavior: smoothly && !calm ? "smooth" : "instant" });
  }

  // To be called after the answer has grown.
  keepUp() {
    if (!this.#follows) return;
    const page = document.documentElement;
    page.scrollTop = page.scrollHeight;
  }

  #reaches(height) {
    const page = document.documentElement;
    return height - page.scrollTop - page.clientHeight < NEAR_END_PX;
  }

  // A scroll is told of with the next frame, perhaps after text that made the page longer.
  #onScroll() {
    const { scrollTop, scrollHeight } = document.documentElement;
    const isDown = scrollTop > this.#top;
    this.#top = scrollTop;
    if (this.#own) return;
    this.#follows = (isDown || this.#follows) && this.#reaches(Math.min(this.#height, scrollHeight));
    if (!this.isAtEnd) this.keepUp();
  }

  #endOwn() {
    clearTimeout(this.#own);
    this.#own = 0;
  }
}
