/** Prints the last line of a CI run from vitest's JSON reports; fails when one is missing or ran nothing, or something failed. */
import { existsSync, readFileSync } from "node:fs";

const files = process.argv.slice(2);
let passed = 0;
let failed = 0;
const skipped = [];
for (const file of files) {
  if (!existsSync(file)) {
    console.log(`no report of its tests: ${file}`);
    failed++;
    continue;
  }
  const report = JSON.parse(readFileSync(file, "utf8"));
  const failedFiles = report.testResults.filter((result) => result.status === "failed" && result.assertionResults.length === 0);
  for (const { name, message } of failedFiles) console.log(`did not run: ${name}: ${message}`);
  if (report.numPassedTests === 0) console.log(`not one test passed: ${file}`);
  passed += report.numPassedTests;
  failed += report.numFailedTests + failedFiles.length + (report.numPassedTests === 0 ? 1 : 0);
  for (const result of report.testResults)
    for (const { status, fullName } of result.assertionResults) {
      if (status === "failed") console.log(`failed: ${fullName}`);
      else if (status !== "passed") skipped.push(`${status}: ${fullName}`);
    }
}
for (const line of new Set(skipped)) console.log(line);
console.log(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`);
process.exitCode = failed === 0 ? 0 : 1;
