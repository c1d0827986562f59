import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  // Relative addresses, so that the server may mount the page under any path.
  base: "./",
  build: {
    outDir: "../crates/portolan/studio/dist",
    emptyOutDir: true,
    target: "es2022",
    // `light-dark()` stays as it is written: lowered, it doubles every colour.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    sourcemap: false,
    cssCodeSplit: false,
    // The policy of the page allows no inline script, and the two chunks need no preload.
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    rolldownOptions: {
      // Fixed names: the build is committed, and hashed names would make every branch conflict.
      output: {
        entryFileNames: "studio.js",
        chunkFileNames: "[name].js",
        assetFileNames: "studio[extname]",
      },
    },
  },
});
