// One conversation, kept in step with the server: asks through the socket, shows what comes back.

import { decorate } from "../lib/decorations.js";
import { applyPuts, resumeGrowing } from "../lib/puts.js";
import { Scrolling } from "../lib/scrolling.js";
import { refreshSidebar } from "../lib/sidebar.js";
import { fetchFragment } from "../lib/sources.js";
import { Socket } from "../lib/socket.js";
import { byClient, pendingTurn, placeTurn, turnFrom } from "../lib/turns.js";

const KINDS = ["text", "conversation", "edits", "regenerates", "continues"];
const FACTS = ["session", "folder", "name", "style", "asks_to_keep", "keep"];
const DOUBLE_CLICK_MS = 500;
const PATIENCE_MS = 700;

class LuminaConversation extends HTMLElement {
  #socket = null;
  #abort = null;
  #scrolling = null;
  #pending = new Map();
  #clickedAt = -Infinity;
  #losing = 0;

  connectedCallback() {
    this.#abort = new AbortController();
    const options = { signal: this.#abort.signal };
    this.#scrolling = new Scrolling(options.signal);
    this.addEventListener("submit", (event) => this.#onSubmit(event), options);
    this.addEventListener("click", (event) => this.#onClick(event), options);
    this.#socket = new Socket();
    this.#socket.addEventListener("open", () => this.#onOpen(), options);
    this.#socket.addEventListener("lost", () => this.#onLost(), options);
    this.#socket.addEventListener("message", (event) => this.#onMessage(event.detail), options);
    this.#socket.open();
    resumeGrowing(this);
    this.#mark();
    this.#showNewest();
  }

  disconnectedCallback() {
    this.#abort.abort();
    clearTimeout(this.#losing);
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

  // --- The socket ----------------------------------------------------------------------------

  #onOpen() {
    this.toggleAttribute("data-connected", true);
    clearTimeout(this.#losing);
    this.querySelector("#connection").hidden = true;
    if (this.dataset.conversation) this.#watch();
    for (const message of this.#pending.values()) this.#socket.send(message);
  }

  // A loss that mends itself at once, or comes of leaving the page, is not worth a word.
  #onLost() {
    this.toggleAttribute("data-connected", false);
    clearTimeout(this.#losing);
    this.#losing = setTimeout(() => (this.querySelector("#connection").hidden = false), PATIENCE_MS);
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

  // --- Asking --------------------------------------------------------------------------------

  #onSubmit(event) {
    const form = event.target;
    if (form.dataset.stops) this.#stop(event, form.dataset.stops);
    else if (form.matches("[data-ask]")) this.#ask(event, form);
  }

  #onClick(event) {
    if (event.target.closest("[data-stop]")) this.#stopNewest(event);
    else if (event.target.closest("[data-earlier]")) this.#showEarlier(event);
  }

  // The second click of a double click on Ask would land on Stop, which takes its place.
  #stopNewest(event) {
    const turn = this.#running.at(-1);
    if (!turn || (event.detail && performance.now() - this.#clickedAt < DOUBLE_CLICK_MS)) return;
    if (this.#socket.isOpen) this.#stop(event, turn.dataset.run);
    else turn.querySelector(".stop-form").requestSubmit();
  }

  #stop(event, run) {
    if (!this.#socket.isOpen) return;
    event.preventDefault();
    this.#socket.send({ type: "stop", run: Number(run) });
  }

  // Where there has never been a socket the form goes its own way, and the answer comes with the
  // next page. A question asked while the connection is lost is sent when it is back.
  #ask(event, form) {
    if (!this.#socket.hasBeenOpen) {
      this.#composer.forgetDraft();
      return;
    }
    event.preventDefault();
    const message = this.#messageFrom(form);
    if (event.submitter?.matches(".send")) this.#clickedAt = performance.now();
    this.#pending.set(message.client_id, message);
    if (message.text && !message.edits && this.#running.length === 0) this.#showPending(message);
    if (form.closest("lumina-composer")) this.#composer.clear();
    if (this.#socket.isOpen) this.#socket.send(message);
  }

  #messageFrom(form) {
    const fields = Object.fromEntries(new FormData(form));
    const message = {
      type: "ask",
      client_id: crypto.getRandomValues(new Uint32Array(4)).join("-"),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    };
    for (const name of KINDS) {
      if (fields[name]) message[name] = fields[name];
    }
    const isQuestion = !message.edits && !message.regenerates && !message.continues;
    if (isQuestion) Object.assign(message, this.#composer.facts(FACTS));
    if (isQuestion && this.dataset.conversation) {
      message.conversation = this.dataset.conversation;
      // What the page shows is what the model will see, whichever version another tab has chosen.
      // A page of older questions names the end of what it is a part of.
      const last = [...this.#turns.querySelectorAll(".turn[data-question]")].at(-1)?.dataset;
      message.after = this.dataset.after || last?.answer || last?.question;
    }
    return message;
  }

  #showPending(message) {
    const turn = pendingTurn(this.querySelector("#pending-turn"), message);
    this.#turns.append(turn);
    this.#leaveWelcome();
    this.#scrolling.show(turn, { smoothly: true });
  }

  #leaveWelcome() {
    this.classList.remove("is-empty");
    this.querySelector(".welcome")?.remove();
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
    if (!this.dataset.conversation) {
      this.dataset.conversation = conversation;
      const hidden = this.querySelector('#composer [name="conversation"]');
      if (hidden) hidden.value = conversation;
      this.querySelector("#question").placeholder = "Ask a follow-up…";
      this.#composer.settleFacts();
      for (const link of document.querySelectorAll("[data-new-question]")) link.search = `?from=${conversation}`;
      this.#composer.moveTo(`/c/${conversation}/`);
      refreshSidebar(conversation);
    }
    this.#composer.keepDraft();
  }

  #onRefused({ client_id: clientId, message: reason, code }) {
    const refused = this.#pending.get(clientId);
    this.#pending.delete(clientId);
    byClient(this.#turns, clientId)?.remove();
    const question = refused?.edits ? "" : refused?.text;
    if (code !== "not_running") this.#composer.refuse(reason, question);
    this.#mark();
  }

  #onTurn(message) {
    this.dataset.newest = Math.max(Number(this.dataset.newest), message.run);
    const isShown = byClient(this.#turns, message.client_id) !== undefined;
    const hadFocus = this.#turns.contains(document.activeElement);
    const wasAtEnd = this.#scrolling.isAtEnd;
    const turn = turnFrom(message.html);
    if (!placeTurn(this.#turns, turn, message)) {
      location.assign(location.pathname);
      return;
    }
    resumeGrowing(turn);
    decorate(turn);
    this.#leaveWelcome();
    for (const old of this.#turns.querySelectorAll(".turn:not(:last-child) .followups")) old.remove();
    this.#mark();
    if (hadFocus && !this.#turns.contains(document.activeElement)) this.#composer.takeFocus();
    if (!isShown && wasAtEnd) this.#scrolling.show(turn, { smoothly: true });
  }

  #onEvent({ run, seq, type, status, puts }) {
    const turn = this.#turns.querySelector(`.turn[data-run="${run}"]`);
    if (!turn || seq !== Number(turn.dataset.seq) + 1) return;
    turn.dataset.seq = seq;
    applyPuts(turn.querySelector(".answer"), puts);
    if (type === "run_finished") this.#onFinished(turn, status);
    if (turn === this.#turns.lastElementChild) this.#scrolling.keepUp();
  }

  #onFinished(turn, status) {
    turn.dataset.status = status;
    turn.querySelector(".answer").setAttribute("aria-busy", "false");
    this.#mark();
    const notice = turn.querySelector(".notice")?.textContent.trim();
    this.querySelector("#said").textContent = notice || "The answer is complete.";
    refreshSidebar(this.dataset.conversation);
  }

  // --- The page ------------------------------------------------------------------------------

  #mark() {
    this.#composer.busy = this.#running.length > 0;
  }

  // A conversation that is opened, rather than returned to, shows its newest question.
  #showNewest() {
    const [navigation] = performance.getEntriesByType("navigation");
    const newest = this.#turns.lastElementChild;
    const isOpened = navigation?.type === "navigate" && !location.hash;
    if (isOpened && newest?.previousElementSibling) this.#scrolling.show(newest, { smoothly: false });
  }

  async #showEarlier(event) {
    const link = event.target.closest("[data-earlier]");
    event.preventDefault();
    try {
      const holder = document.createElement("template");
      holder.innerHTML = await fetchFragment(link.href);
      const earlier = holder.content.querySelector("[data-earlier]");
      const turns = [...holder.content.querySelectorAll(".turn")];
      const height = document.documentElement.scrollHeight;
      this.#turns.prepend(...turns);
      for (const turn of turns) decorate(turn);
      if (earlier) link.href = earlier.href;
      else link.remove();
      scrollBy({ top: document.documentElement.scrollHeight - height, behavior: "instant" });
    } catch {
      location.assign(link.href);
    }
  }
}

customElements.define("lumina-conversation", LuminaConversation);
