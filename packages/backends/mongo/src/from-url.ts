import { invalid } from "./errors.ts";

type Options = Record<string, unknown>;

const text = (value: string): string => value;
const toBoolean = (value: string, name: string): boolean => {
  if (value === "true" || value === "false") return value === "true";
  throw invalid(name, `${name} is true or false.`);
};
/** What is no number is refused with the others. */
const toNumber = (value: string): number => (value.trim() === "" ? Number.NaN : Number(value));

const PARAMETERS: ReadonlyMap<string, (value: string, name: string) => unknown> = new Map<
  string,
  (value: string, name: string) => unknown
>([
  ["prefix", text],
  ["notify", toBoolean],
  ["conflictTimeoutMs", toNumber],
  ["commandTimeoutMs", toNumber],
  ["maxConnections", toNumber],
]);

/**
 * A URL as `Rheo.open` takes it: that of the driver, with `prefix`, `notify`, `conflictTimeoutMs`, `commandTimeoutMs` and
 * `maxConnections` among its parameters if wanted. These are taken out, because the driver refuses what it does not know.
 * @throws invalid_option
 */
export const optionsFromUrl = (url: string): Readonly<Options> => {
  const at = url.indexOf("?");
  if (at === -1) return { url };
  const options: Options = {};
  const others: string[] = [];
  for (const pair of url.slice(at + 1).split("&")) {
    const [[name, value] = ["", ""]] = [...new URLSearchParams(pair)];
    const parse = PARAMETERS.get(name);
    if (parse === undefined) others.push(pair);
    else if (Object.hasOwn(options, name)) throw invalid(name, `The url has the parameter "${name}" twice.`);
    else options[name] = parse(value, name);
  }
  const query = others.join("&");
  return { ...options, url: query === "" ? url.slice(0, at) : `${url.slice(0, at)}?${query}` };
};
