// Where the draft of a page is kept, for as long as its tab is open.
export const DRAFT_KEY = (path) => `draft:${path}`;
