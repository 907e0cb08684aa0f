// The list of turns on the page: one article for each question with its answer.

const LONG_QUESTION_CHARS = 280;

export function turnFrom(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content.firstElementChild;
}

// The question that was just asked, until the server has taken it.
export function pendingTurn(template, { client_id: clientId, text }) {
  const turn = template.content.firstElementChild.cloneNode(true);
  turn.dataset.client = clientId;
  const question = turn.querySelector(".question-text");
  question.textContent = text;
  question.classList.toggle("is-long", text.length > LONG_QUESTION_CHARS);
  return turn;
}

export function byClient(turns, clientId) {
  return [...turns.children].find((turn) => turn.dataset.client === clientId);
}

// Puts a turn where it belongs, in place of what it replaces. False when it follows a turn that
// is not here: then the page shows another version of the conversation.
export function placeTurn(turns, turn, { question, follows }) {
  const known = document.getElementById(`turn-${question}`);
  if (known) {
    removeAfter(known);
    known.replaceWith(turn);
    return true;
  }
  const before = follows && turns.querySelector(`.turn:is([data-answer="${follows}"], [data-question="${follows}"])`);
  if (follows && !before) return false;
  if (before) removeAfter(before);
  else turns.replaceChildren();
  turns.append(turn);
  return true;
}

function removeAfter(turn) {
  while (turn.nextElementSibling) turn.nextElementSibling.remove();
}
