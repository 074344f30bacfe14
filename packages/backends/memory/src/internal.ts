export { MemoryBackend } from "./backend.ts";
