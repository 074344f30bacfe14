import { type ChildProcess, spawn } from "node:child_process";

/**
 * A server that nobody stopped, because a test failed or was left out, does not outlive this process, however it ends: its pipe is closed
 * then. In a session of its own, so that Ctrl-C at a terminal, which is for this process to decide about, does not end the guard.
 * @param signal - such that nothing of the server is left
 */
export const endWithProcess = (server: ChildProcess, signal: "KILL" | "QUIT" = "KILL"): void => {
  const script = `read -r _; kill -${signal} ${server.pid}`;
  const guard = spawn("/bin/sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  server.once("exit", () => guard.kill("SIGKILL"));
};
