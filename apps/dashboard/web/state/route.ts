/** Where the reader is: the part of the URL after `#`, which no server is told. */
import { signal } from "@preact/signals";

export interface Route {
  /** Decoded parts of the path. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const parse = (hash: string): Route => {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody typed it
  }
};

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** A link to a place. Parts may hold any characters. */
export const href = (path: readonly string[], query: Query = {}): string => {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== "") params.set(name, String(value));
  const text = params.toString();
  return `#/${path.map(encode).join("/")}${text === "" ? "" : `?${text}`}`;
};

const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

export const streamHref = (stream: string): string => href(["streams", stream]);
export const groupHref = (stream: string, group: string): string => href(["streams", stream, "groups", group]);
export const eventHref = (stream: string, id: string): string => href(["streams", stream, "events", id]);
export const deadLettersHref = (stream: string, group: string, query: Query = {}): string =>
  href(["streams", stream, "groups", group, "dead-letters"], query);

/** The same place with another query. */
export const withQuery = (query: Query): string => {
  const { path, query: given } = route.value;
  return href(path, { ...Object.fromEntries(given), ...query });
};

export const goTo = (target: string): void => {
  location.hash = target;
};
