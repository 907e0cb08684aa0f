// One conversation, kept in step with the server: asks through the socket, shows what comes back.

import { applyPuts } from "../lib/puts.js";
import { fetchFragment } from "../lib/sources.js";
import { Socket } from "../lib/socket.js";

const NEAR_END_PX = 160;

class LuminaConversation extends HTMLElement {
  #socket = null;
  #abort = null;
  #pending = new Map();

  connectedCallback() {
    this.#abort = new AbortController();
    const options = { signal: this.#abort.signal };
    this.addEventListener("submit", (event) => this.#onSubmit(event), options);
    this.addEventListener("click", (event) => this.#onClick(event), options);
    this.#socket = new Socket();
    this.#socket.addEventListener("open", () => this.#onOpen(), options);
    this.#socket.addEventListener("lost", () => this.#onLost(), options);
    this.#socket.addEventListener("message", (event) => this.#onMessage(event.detail), options);
    this.#socket.open();
    this.#mark();
    if (this.#running.length) this.#scrollToEnd();
  }

  disconnectedCallback() {
    this.#abort.abort();
    this.#socket.close();
  }

  get #turns() {
    return this.querySelector("#turns");
  }

  get #composer() {
    return this.querySelector("lumina-composer");
  }

  get #running() {
    return [...this.#turns.querySelectorAll('.turn[data-status="running"]')];
  }

  #onOpen() {
    this.querySelector("#connection").hidden = true;
    if (this.dataset.conversation) this.#watch();
    for (const message of this.#pending.values()) this.#socket.send(message);
  }

  #onLost() {
    this.querySelector("#connection").hidden = false;
  }

  #watch() {
    const runs = Object.fromEntries(this.#running.map((turn) => [turn.dataset.run, turn.dataset.seq]));
    this.#socket.send({
      type: "watch",
      conversation: Number(this.dataset.conversation),
      runs,
      newest: Number(this.dataset.newest),
    });
  }

  // --- Asking ------------------------------------------------------------------------------

  #onSubmit(event) {
    const form = event.target;
    if (form.dataset.stops) this.#stop(event, form.dataset.stops);
    else if (form.matches("[data-ask]")) this.#ask(event, form);
  }

  #onClick(event) {
    if (event.target.closest("[data-stop]")) {
      const turn = this.#running.at(-1);
      if (turn) this.#stop(event, turn.dataset.run);
    } else if (event.target.closest("[data-earlier]")) {
      this.#showEarlier(event);
    }
  }

  #stop(event, run) {
    if (!this.#socket.isOpen) return;
    event.preventDefault();
    this.#socket.send({ type: "stop", run: Number(run) });
  }

  // Without a socket the form goes its own way and the answer comes with the next page.
  #ask(event, form) {
    if (!this.#socket.isOpen) return;
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    const message = {
      type: "ask",
      client_id: crypto.getRandomValues(new Uint32Array(4)).join("-"),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    };
    for (const name of ["text", "conversation", "edits", "regenerates", "continues"]) {
      if (fields[name]) message[name] = fields[name];
    }
    if (!message.edits && !message.regenerates && !message.continues && this.dataset.conversation) {
      message.conversation = this.dataset.conversation;
    }
    this.#pending.set(message.client_id, message);
    if (message.text && !message.edits) this.#showPending(message);
    if (form.closest("lumina-composer")) this.#composer.clear();
    this.#socket.send(message);
  }

  #showPending(message) {
    const turn = this.querySelector("#pending-turn").content.firstElementChild.cloneNode(true);
    turn.dataset.client = message.client_id;
    turn.querySelector(".question-text").textContent = message.text;
    this.#turns.append(turn);
    this.classList.remove("is-empty");
    this.querySelector(".welcome")?.remove();
    turn.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  // --- What comes back -----------------------------------------------------------------------

  #onMessage(message) {
    if (message.type === "accepted") this.#onAccepted(message);
    else if (message.type === "refused") this.#onRefused(message);
    else if (message.type === "turn") this.#onTurn(message);
    else if (message.seq) this.#onEvent(message);
  }

  #onAccepted({ client_id: clientId, conversation }) {
    this.#pending.delete(clientId);
    if (this.dataset.conversation) return;
    this.dataset.conversation = conversation;
    const hidden = this.querySelector('#composer [name="conversation"]');
    if (hidden) hidden.value = conversation;
    this.querySelector("#question").placeholder = "Ask a follow-up…";
    history.replaceState(null, "", `/c/${conversation}/`);
    this.#refreshSidebar();
  }

  #onRefused({ client_id: clientId, message: reason, code }) {
    const refused = this.#pending.get(clientId);
    this.#pending.delete(clientId);
    this.#turns.querySelector(`.pending[data-client="${CSS.escape(clientId)}"]`)?.remove();
    if (code !== "not_running") this.#composer.refuse(reason, refused?.text);
    this.#mark();
  }

  #onTurn({ run, client_id: clientId, follows, question, html }) {
    const near = this.#isNearEnd;
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const turn = holder.content.firstElementChild;
    this.dataset.newest = Math.max(Number(this.dataset.newest), run);
    const pending = this.#turns.querySelector(`.pending[data-client="${CSS.escape(clientId)}"]`);
    const known = document.getElementById(`turn-${question}`);
    const place = known ?? pending;
    if (place) {
      this.#removeAfter(place);
      place.replaceWith(turn);
    } else {
      const before = follows && this.#turns.querySelector(`.turn[data-answer="${follows}"]`);
      if (before) this.#removeAfter(before);
      else if (!follows) this.#turns.replaceChildren();
      this.#turns.append(turn);
      if (near) turn.scrollIntoView({ block: "start", behavior: "smooth" });
    }
    this.querySelector(".welcome")?.remove();
    this.classList.remove("is-empty");
    for (const old of this.#turns.querySelectorAll(".turn:not(:last-child) .followups")) old.remove();
    this.#mark();
  }

  #removeAfter(turn) {
    while (turn.nextElementSibling) turn.nextElementSibling.remove();
  }

  #onEvent({ run, seq, type, status, puts }) {
    const turn = this.#turns.querySelector(`.turn[data-run="${run}"]`);
    if (!turn || seq !== Number(turn.dataset.seq) + 1) return;
    const near = this.#isNearEnd;
    turn.dataset.seq = seq;
    const answer = turn.querySelector(".answer");
    applyPuts(answer, puts);
    if (type === "run_finished") {
      turn.dataset.status = status;
      answer.setAttribute("aria-busy", "false");
      this.#mark();
      this.#refreshSidebar();
    }
    if (near && turn === this.#turns.lastElementChild) this.#scrollToEnd();
  }

  // --- The page ------------------------------------------------------------------------------

  #mark() {
    this.#composer.busy = this.#running.length > 0;
  }

  get #isNearEnd() {
    const page = document.documentElement;
    return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR_END_PX;
  }

  #scrollToEnd() {
    const page = document.documentElement;
    page.scrollTop = page.scrollHeight;
  }

  async #refreshSidebar() {
    const current = this.dataset.conversation;
    try {
      const html = await fetchFragment(`/sidebar/?conversation=${encodeURIComponent(current)}`);
      const sidebar = document.getElementById("sidebar");
      if (!sidebar.contains(document.activeElement)) sidebar.innerHTML = html;
    } catch {
      // The list is refreshed with the next answer.
    }
  }

  async #showEarlier(event) {
    const link = event.target.closest("[data-earlier]");
    event.preventDefault();
    try {
      const html = await fetchFragment(link.href);
      const height = document.documentElement.scrollHeight;
      const holder = document.createElement("template");
      holder.innerHTML = html;
      const earlier = holder.content.querySelector("[data-earlier]");
      this.#turns.prepend(...holder.content.querySelectorAll(".turn"));
      if (earlier) link.href = earlier.href;
      else link.remove();
      window.scrollBy(0, document.documentElement.scrollHeight - height);
    } catch {
      location.assign(link.href);
    }
  }
}

customElements.define("lumina-conversation", LuminaConversation);
