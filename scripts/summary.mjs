/** Prints the last line of a CI run from vitest's JSON report; fails when nothing ran, something failed, or something was skipped in silence. */
import { readFileSync } from "node:fs";

const [file] = process.argv.slice(2);
const report = JSON.parse(readFileSync(file, "utf8"));
const failedFiles = report.testResults.filter((result) => result.status === "failed" && result.assertionResults.length === 0);
for (const { name, message } of failedFiles) console.log(`did not run: ${name}: ${message}`);
const skipped = report.testResults.flatMap((result) =>
  result.assertionResults.filter((test) => test.status !== "passed" && test.status !== "failed"),
);
for (const { fullName, status } of skipped) console.log(`${status}: ${fullName}`);
const failed = report.numFailedTests + failedFiles.length;
console.log(`${report.numPassedTests} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`);
process.exitCode = failed === 0 && report.numPassedTests > 0 ? 0 : 1;
