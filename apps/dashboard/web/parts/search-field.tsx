import type { JSX, TargetedInputEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { goTo, route, withQuery } from "../state/route.ts";

/** Typing pauses this long before it is searched for, in ms. */
const PAUSE_MS = 250;

/** Narrows a list by name: the text is part of the address. */
export const SearchField = ({ label }: { readonly label: string }): JSX.Element => {
  const timer = useRef(0);
  const text = route.value.query.get("search") ?? "";
  useEffect(() => () => clearTimeout(timer.current), []);
  const onInput = ({ currentTarget }: TargetedInputEvent<HTMLInputElement>): void => {
    const { value } = currentTarget;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => goTo(withQuery({ search: value, page: null })), PAUSE_MS);
  };
  return (
    <input
      class="search"
      type="search"
      aria-label={label}
      placeholder="Find by name  ( / )"
      defaultValue={text}
      onInput={onInput}
    />
  );
};
