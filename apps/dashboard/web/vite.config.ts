import { defineConfig } from "vite";

/** Everything in files of our own, named by content, with relative paths: so it can be mounted anywhere and needs no inline script. */
export default defineConfig({
  base: "./",
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    // what is bundled asks for its notice to be passed on
    license: { fileName: "licenses.md" },
  },
});
