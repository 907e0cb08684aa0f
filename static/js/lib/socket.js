// A socket that comes back. It says nothing of its own: the page tells it what to watch on open.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;
const SIGNED_OUT = 4401;

export class Socket extends EventTarget {
  #socket = null;
  #wait = FIRST_WAIT_MS;
  #timer = 0;
  #closed = false;
  #abort = new AbortController();
  hasBeenOpen = false;

  constructor() {
    super();
    const options = { signal: this.#abort.signal };
    addEventListener("online", () => this.#retry(), options);
    document.addEventListener("visibilitychange", () => document.hidden || this.#retry(), options);
  }

  open() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    this.#socket = new WebSocket(`${scheme}//${location.host}/ws/`);
    this.#socket.addEventListener("open", () => {
      this.#wait = FIRST_WAIT_MS;
      this.hasBeenOpen = true;
      this.dispatchEvent(new Event("open"));
    });
    this.#socket.addEventListener("message", (event) => {
      this.dispatchEvent(new CustomEvent("message", { detail: JSON.parse(event.data) }));
    });
    this.#socket.addEventListener("close", (event) => this.#lost(event));
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  send(message) {
    this.#socket.send(JSON.stringify(message));
  }

  close() {
    this.#closed = true;
    this.#abort.abort();
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  // The network or the person is back: there is no need to wait any longer.
  #retry() {
    if (this.#socket?.readyState !== WebSocket.CLOSED) return;
    clearTimeout(this.#timer);
    this.open();
  }

  #lost(event) {
    if (this.#closed) return;
    if (event.code === SIGNED_OUT) {
      location.reload();
      return;
    }
    this.dispatchEvent(new Event("lost"));
    this.#timer = setTimeout(() => this.open(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }
}
