/** Elements by id, and new ones. Text is always text: nothing here makes markup of it. */

/** @throws when the page has no such element */
export const byId = <Type extends HTMLElement>(id: string, type: new () => Type): Type => {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`The page has no ${type.name} with the id ${id}.`);
};

export const element = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  ...content: readonly (string | Node)[]
): HTMLElementTagNameMap[Tag] => {
  const made = document.createElement(tag);
  if (className !== "") made.className = className;
  made.append(...content);
  return made;
};

export const button = (text: string, className: string, onClick: () => void): HTMLButtonElement => {
  const made = element("button", className, text);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
};

/** Changes what is shown only where it differs, so that a reader's selection and focus stay. */
export const setText = (target: HTMLElement, text: string): void => {
  if (target.textContent !== text) target.textContent = text;
};
