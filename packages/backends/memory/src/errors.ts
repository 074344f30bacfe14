import { RheoError } from "@rheo/core";

export const closed = (): RheoError => new RheoError("closed", "This memory store is closed.");
