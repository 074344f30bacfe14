/** For the tests of this package. Not covered by semver. */
export { copyOf } from "./copy.ts";
export { filterQuery } from "./filter-query.ts";
export { optionsFromUrl } from "./from-url.ts";
export { INDEXES } from "./migrations/0001-initial.ts";
export { resolveOptions } from "./options.ts";
