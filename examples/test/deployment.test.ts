/** What the unit files say is what runs here: their command lines, with the folders of a machine replaced by those of the test. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Rheo } from "@rheo/core";
import { isLong } from "@rheo/testing/internal";
import { findRedis, freePort, startPostgres, startRedis } from "@rheo/testing/servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { buildPages } from "../../apps/dashboard/test/fixtures/pages.ts";
import { exampleFolder, PATIENCE, Program } from "./fixtures/program.ts";
import { durationMs, parseUnit, type Unit } from "./fixtures/unit.ts";

const FOLDER = exampleFolder("deployment");
const BIN = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "rheo-deployment-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  await mkdir(join(home, "run"));
});

const textOf = (name: string): string => readFileSync(join(FOLDER, "systemd", name), "utf8");

/** As it is on the machine of the test. */
const here = (text: string): string =>
  text
    .replaceAll("/srv/rheo-app/node_modules/.bin", BIN)
    .replaceAll("/srv/rheo-app", FOLDER)
    .replaceAll("/run/rheo-app", join(home, "run"))
    .replaceAll("/var/lib/rheo-app", home);

const unitOf = (name: string): Unit => parseUnit(here(textOf(name)));

const environmentOf = (name: string): Record<string, string> =>
  Object.fromEntries([...here(textOf(name)).matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, key = "", value = ""]) => [key, value]));

const words = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

/** Starts the unit as systemd would, up to the end of its ExecStartPost. */
const start = async (name: string, env: Readonly<Record<string, string>>): Promise<Program> => {
  const unit = unitOf(name);
  const program = new Program(words(unit.get("ExecStart")), unit.get("WorkingDirectory"), env);
  onTestFinished(() => program[Symbol.asyncDispose]());
  const post = unit.find("ExecStartPost");
  if (post === undefined) return program;
  await using waiting = new Program(words(post), unit.get("WorkingDirectory"));
  expect(await Promise.race([waiting.code, program.code.then((code) => `ended with ${code}: ${program.stderr}`)])).toBe(0);
  return program;
};

const pidsOf = ({ stdout }: Program): number[] => {
  const byPlace = new Map<string, number>();
  for (const [, child = "", pid] of stdout.matchAll(/rheo \| (process-\d+) is ready, pid (\d+)/g))
    byPlace.set(child, Number(pid));
  return [...byPlace.values()];
};

const NO_REDIS = "redis-server is not installed, so the processes were not run on Redis";

const openPostgres = async (): Promise<string> => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  return server.url;
};

const openRedis = async (): Promise<string> => {
  const server = await startRedis({ settings: { appendonly: "yes" } });
  onTestFinished(() => server.stop());
  return server.url;
};

/** That of app.env; with RHEO_LONG also those that people put there instead. */
const stores: readonly (readonly [string, () => Promise<string>])[] = [
  ["SQLite", () => Promise.resolve(environmentOf("app.env").RHEO_STORE ?? "")],
  ...(isLong() ? [["PostgreSQL", openPostgres] as const] : []),
  ...(isLong() && findRedis() !== null ? [["Redis", openRedis] as const] : []),
];

if (isLong() && findRedis() === null) {
  console.warn(`\n*** NOT RUN: ${NO_REDIS}. ***\n`);
  test.skipIf(process.env.CI !== "true")("there is a Redis", () => expect(findRedis(), NO_REDIS).not.toBeNull());
}

describe.each(stores)("rheo-app.service on %s", (_, openStore) => {
  test("runs four processes, replaces three that are killed, loses nothing, and drains within its stop time", async () => {
    const port = await freePort();
    const env = { ...environmentOf("app.env"), RHEO_STORE: await openStore(), METRICS_PORT: String(port) };
    const program = await start("rheo-app.service", env);
    const before = pidsOf(program);
    expect(before).toHaveLength(4);
    await using rheo = await Rheo.open(env.RHEO_STORE);
    const jobs = Array.from({ length: 60 }, (_, n) => ({ key: `${n}`, payload: { name: `job ${n}`, takesMs: 300 } }));
    await rheo.appendMany("jobs", jobs);
    await expect.poll(async () => (await rheo.leases("jobs", "workers")).length, PATIENCE).toBeGreaterThan(0);

    for (const pid of before.slice(1)) process.kill(pid, "SIGKILL");
    await expect.poll(() => pidsOf(program).filter((pid) => !before.includes(pid)), PATIENCE).toHaveLength(3);
    await rheo.whenCaughtUp("jobs", "workers");
    expect(await rheo.groupInfo("jobs", "workers")).toMatchObject({ lag: 0, deadLetters: 0 });
    expect(await (await fetch(`http://127.0.0.1:${port + 1}/metrics`)).text()).toContain("rheo_group_lag");

    await rheo.appendMany("jobs", jobs);
    await expect.poll(async () => (await rheo.leases("jobs", "workers")).length, PATIENCE).toBeGreaterThan(0);
    const unit = unitOf("rheo-app.service");
    expect(unit.get("KillMode")).toBe("mixed"); // so the signal is the parent's alone
    const startMs = performance.now();
    program.signal(unit.get("KillSignal") as NodeJS.Signals); // a name of a signal
    expect(await program.code, program.stderr).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(durationMs(unit.get("TimeoutStopSec")));
    expect(await rheo.leases("jobs", "workers")).toEqual([]);
    expect(program.stdout).toContain("rheo | drained");
  });
});

test("ExecReload replaces the four processes one at a time, and none of them is the same", async () => {
  const { METRICS_PORT: _, ...env } = environmentOf("app.env");
  const program = await start("rheo-app.service", env);
  const before = pidsOf(program);
  const reload = words(unitOf("rheo-app.service").get("ExecReload").replace("$MAINPID", String(program.pid)));
  await using done = new Program(reload, FOLDER);
  expect(await done.code).toBe(0);
  await program.prints(/all processes are replaced/);
  expect(pidsOf(program).filter((pid) => before.includes(pid))).toEqual([]);
});

test("rheo-dashboard.service shows the store on this machine alone, and SIGTERM ends it with the code that its unit expects", async () => {
  await buildPages();
  const env = environmentOf("dashboard.env");
  await using rheo = await Rheo.open(env.RHEO_STORE ?? "");
  await rheo.ensureStream("jobs");
  const port = await freePort();
  const unit = here(textOf("rheo-dashboard.service")).replace("--port 8321", `--port ${port}`);
  await using program = new Program(words(parseUnit(unit).get("ExecStart")), FOLDER, env);
  const url = await program.prints(/The dashboard is at (\S+)/);
  expect(new URL(url).hostname).toBe("127.0.0.1");
  expect(await (await fetch(`${url}api/overview`)).text()).toContain('"jobs"');
  program.signal("SIGTERM");
  expect(String(await program.code), program.stderr).toBe(parseUnit(unit).get("SuccessExitStatus"));
});

test("a config that is wrong ends with the code after which the unit is not started again", async () => {
  const unit = unitOf("rheo-app.service");
  const command = words(unit.get("ExecStart").replace("src/app.config.ts", "src/none.ts"));
  await using program = new Program(command, FOLDER, { RHEO_STORE: "memory:" });
  expect(String(await program.code), program.stderr).toBe(unit.get("RestartPreventExitStatus"));
});

interface Service {
  readonly command?: readonly string[];
  readonly healthcheck?: object;
  readonly stop_grace_period?: string;
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly depends_on?: Readonly<Record<string, object>>;
}

describe("the files", () => {
  const drainMs = (command: string): number => durationMs(/--drain-timeout[ ,"]+(\w+)/.exec(command)?.[1] ?? "");
  /** What is left of a process ends so long after its drain timeout; see the README of the command line. */
  const END_MS = 6_000;

  test("the unit leaves time for the drain, and for what ends after it", () => {
    const unit = unitOf("rheo-app.service");
    expect(durationMs(unit.get("TimeoutStopSec"))).toBeGreaterThan(drainMs(unit.get("ExecStart")) + END_MS);
  });

  const { services, volumes } = parse(readFileSync(join(FOLDER, "container/compose.yaml"), "utf8"), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: Readonly<Record<string, unknown>>;
  }; // what is asked of it below

  test("the container leaves time for the drain, too, and is healthy by the file that is there while all run", () => {
    const { command = [], stop_grace_period = "", healthcheck } = services.app ?? {};
    expect(durationMs(stop_grace_period)).toBeGreaterThan(drainMs(command.join(" ")) + END_MS);
    expect(healthcheck).toMatchObject({ test: ["CMD", "test", "-e", command[command.indexOf("--ready-file") + 1]] });
  });

  test("what runs for long says how it is and how long it takes to end, and what it depends on is there", () => {
    for (const [name, { healthcheck, stop_grace_period, depends_on = {} }] of Object.entries(services)) {
      if (name !== "migrate") expect([name, healthcheck, stop_grace_period]).not.toContain(undefined);
      for (const other of Object.keys(depends_on)) expect(Object.keys(services)).toContain(other);
    }
    expect(Object.keys(volumes).sort()).toEqual(["postgres", "redis"]);
  });

  test("no port of the containers is open to other machines, and ours cannot write to their images", () => {
    for (const port of Object.values(services).flatMap(({ ports = [] }) => ports)) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(["migrate", "app", "dashboard"].map((name) => services[name]?.read_only)).toEqual([true, true, true]);
  });

  test("the commands of the containers are commands of rheo", () => {
    for (const { command = [] } of [services.migrate, services.app, services.dashboard].map((service) => service ?? {})) {
      const [bin = "", name = "", ...flags] = command;
      const { stdout } = spawnSync(join(BIN, bin), [name, "--help"], { encoding: "utf8" });
      expect(stdout).toContain(`rheo ${name}`);
      for (const flag of flags.filter((word) => word.startsWith("--"))) expect(stdout).toContain(flag);
    }
  });

  test("systemd finds nothing wrong with the units, and little that they need not be allowed", async () => {
    const units = ["rheo-app.service", "rheo-dashboard.service"];
    for (const name of units) await writeFile(join(home, name), here(textOf(name)));
    const analyze = (...args: string[]): { status: number | null; said: string } => {
      const { status, stdout, stderr, error } = spawnSync("systemd-analyze", args, {
        encoding: "utf8",
        env: { ...process.env, NO_COLOR: "1" },
      });
      return { status: error === undefined ? status : -1, said: `${stdout}${stderr}${error ?? ""}` };
    };
    if (analyze("--version").status !== 0 && process.env.CI !== "true") {
      console.warn("\n*** NOT RUN: systemd-analyze is not installed, so the unit files were not verified. ***\n");
      return;
    }
    for (const name of units) {
      const path = join(home, name);
      const { said } = analyze("verify", "--man=no", path); // it also looks at what else is on this machine
      expect(said.split("\n").filter((line) => line.includes(name))).toEqual([]);
      const { status, said: exposure } = analyze("security", "--offline=yes", "--threshold=20", path);
      expect(status, exposure).toBe(0);
    }
  });
});
