/** Puts a hostile value somewhere into arguments that are sound: in place of one, or of a part of one. */

type Container = Record<PropertyKey, unknown>;

/** Places deeper than this are not looked for. */
const MAX_DEPTH = 4;
/** Names that an object may get beside its own. */
const STRAY = ["__proto__", "constructor", "unknown", "toString", "then", "transaction", "signal", "schema", "where"] as const;

const isContainer = (value: unknown): value is Container =>
  typeof value === "object" &&
  value !== null &&
  Object.isExtensible(value) &&
  (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);

/** Where a value may be put: the object and the name in it. */
interface Spot {
  readonly owner: Container;
  readonly name: PropertyKey;
  readonly path: string;
}

const spotsOf = (owner: Container, path: string, depth: number): Spot[] => {
  const names = Object.keys(owner);
  const stray = Array.isArray(owner) ? [] : STRAY.filter((name) => !names.includes(name));
  const here = [...names, ...stray].map((name) => ({ owner, name, path: `${path}.${name}` }));
  if (depth >= MAX_DEPTH) return here;
  return [
    ...here,
    ...names.flatMap((name) => (isContainer(owner[name]) ? spotsOf(owner[name], `${path}.${name}`, depth + 1) : [])),
  ];
};

/** Spoils `values` in place; `where` chooses the place, from all there are. Gives its path. */
export const spoil = (values: unknown[], where: number, value: unknown): string => {
  const spots = spotsOf(values as unknown as Container, "", 0); // an array is read and written by name here
  // the arguments themselves, of which there are few, are as likely as all that is in them
  const top = spots.filter(({ owner }) => owner === (values as unknown));
  const spot = where % 2 === 0 ? top[(where >> 1) % top.length] : spots[(where >> 1) % spots.length];
  if (spot === undefined) return "nowhere";
  Object.defineProperty(spot.owner, spot.name, { value, enumerable: true, configurable: true, writable: true });
  return spot.path;
};
