/** Where what the site is made of lies, and where what is made goes. Nothing of the latter is committed. */
import { fileURLToPath } from "node:url";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The repository. */
export const ROOT: string = at("../../..");
/** This app, whose `.vitepress` says how the site looks. */
export const HOME: string = at("..");
/** The pages of the API reference, as Markdown. */
export const API: string = at("../tmp/api");
/** The built site. */
export const SITE: string = at("../tmp/site");
