/** Prints what is said by stores whose client is not installed. */
import { Rheo } from "@rheo/core";

for (const url of ["postgres://127.0.0.1/x", "redis://127.0.0.1", "mongodb://127.0.0.1/x"]) {
  await Rheo.open(url).catch((error) => console.log(`${error.code}: ${error.message}`));
}
