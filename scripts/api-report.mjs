/**
 * The public API as text in `api/`, one file for each entry point and one for the command line, so that a change to it shows in review.
 * `npm run api` writes the files; with --check it fails where they differ from what is built. `./internal` is no promise and has none.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";
import { commandReport } from "./command-report.mjs";
import { entryPoints, publicPackages, ROOT } from "./packages.mjs";

const COMMITTED = join(ROOT, "api");
const OUTDATED = `
The public API differs from the reports in api/. If that is meant, run

  npm run api && git add api

and describe the change for users with npx changeset; docs/versioning.md says which kind it is.
If it is not meant, what the lines above show as + has become public, or what they show as - no longer is.`;

/** Only what concerns the text of a report. */
const messages = {
  extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
  tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
};

/** @rheo/core → core, @rheo/runtime/handler → runtime-handler */
const reportName = (specifier) => specifier.replace("@rheo/", "").replaceAll("/", "-");

const configOf = ({ folder, name }, { specifier, types }, reportFolder, reportTempFolder) => {
  const projectFolder = join(ROOT, folder);
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder,
      mainEntryPointFilePath: join(projectFolder, types),
      compiler: { tsconfigFilePath: join(projectFolder, "tsconfig.json") },
      // what a public name is made of is public too, whether it has a name or not
      apiReport: {
        enabled: true,
        reportFileName: reportName(specifier),
        reportFolder,
        reportTempFolder,
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: "lf",
      messages,
    },
    packageJson: { name },
    packageJsonFullPath: join(projectFolder, "package.json"),
  });
};

const writeReports = async (reportFolder) => {
  const temporary = mkdtempSync(join(tmpdir(), "rheo-api-"));
  rmSync(reportFolder, { recursive: true, force: true });
  mkdirSync(reportFolder, { recursive: true });
  try {
    const configs = publicPackages().flatMap((one) =>
      entryPoints(one)
        .filter(({ path }) => path !== "./internal")
        .map((entry) => configOf(one, entry, reportFolder, temporary)),
    );
    writeFileSync(join(reportFolder, "commands.txt"), await commandReport());
    // one program for all takes a fifth of the time of one each
    const compilerState = CompilerState.create(configs[0], {
      additionalEntryPoints: configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
    });
    for (const config of configs) {
      const { succeeded } = Extractor.invoke(config, { localBuild: true, compilerState, messageCallback: quietly });
      if (!succeeded) throw new Error(`No report could be made of ${config.mainEntryPointFilePath}.`);
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

/** That a report was written is what this is for; what is an error is said. */
const quietly = (message) => {
  if (message.logLevel !== ExtractorLogLevel.Error) message.handled = true;
};

const differences = (folder) =>
  spawnSync("git", ["diff", "--no-index", "--no-ext-diff", COMMITTED, folder], { cwd: ROOT, stdio: "inherit" }).status;

if (process.argv.includes("--check")) {
  const folder = mkdtempSync(join(tmpdir(), "rheo-api-"));
  try {
    await writeReports(folder);
    if (differences(folder) !== 0) {
      console.error(OUTDATED);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else await writeReports(COMMITTED);
