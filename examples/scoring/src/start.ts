/** The same images with one thread and with two, then with a poisonous one among them. `npm start -- 1000` scores a thousand. */
import { run } from "./run.ts";

const count = Number(process.argv[2] ?? 200);
if (!Number.isSafeInteger(count) || count < 1) throw new TypeError("Give how many images to score, such as 200.");

for (const threads of [1, 2]) {
  const { imagesPerSecond, loopDelayMs, mainBusy, ranked, sharp } = await run(threads, count, false);
  console.log(
    `${threads} thread${threads === 1 ? " " : "s"}: ${imagesPerSecond} images/s, ${ranked} ranked, ${sharp} of them sharp`,
  );
  console.log(`  main thread: busy ${mainBusy}, timers late by ${loopDelayMs.p50} ms (p50), ${loopDelayMs.p99} ms (p99)`);
}
const { ranked, deadLetters } = await run(2, count, true);
console.log(`with a poisonous image: ${ranked} ranked, ${deadLetters.length} dead letter`);
for (const { id, attempts, reason } of deadLetters) console.log(`  ${id} after ${attempts} attempts: ${reason}`);
