/** `/` goes to the search field, `j` and `k` to the next and previous row. */
export const listenForKeys = (): void => addEventListener("keydown", onKey);

const onKey = (event: KeyboardEvent): void => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const act = { "/": focusSearch, j: () => focusRow(1), k: () => focusRow(-1) }[event.key];
  if (act?.() === true) event.preventDefault();
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

const focusSearch = (): boolean => {
  const field = document.querySelector<HTMLInputElement>("main input[type=search]");
  field?.focus();
  field?.select();
  return field !== null;
};

const focusRow = (step: 1 | -1): boolean => {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const row = at === -1 ? rows.at(step === 1 ? 0 : -1) : rows[at + step];
  row?.focus();
  return row !== undefined;
};
