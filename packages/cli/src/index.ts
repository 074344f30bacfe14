export type { Input, Io, Output } from "./io.ts";
export { main } from "./main.ts";
