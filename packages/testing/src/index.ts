export { type DescribeBackendOptions, describeBackend } from "./contract/describe-backend.ts";
export { type DescribeCrashesOptions, describeCrashes } from "./crashes/describe-crashes.ts";
export { type Fault, type Flaky, type FlakyMethod, type FlakyOptions, flaky } from "./flaky.ts";
export { type DescribeModelOptions, describeModel } from "./model/describe-model.ts";
export { OtherProcess } from "./process/other-process.ts";
export type { Factory } from "./process/protocol.ts";
export { type DescribeRacesOptions, describeRaces } from "./races/describe-races.ts";
export type { BackendUnderTest, CallerTransaction, StoreUnderTest, TransactionFixture } from "./store.ts";
