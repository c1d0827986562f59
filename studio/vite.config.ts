import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The studio that the page under development talks to. It refuses other hosts and origins, so requests come as from its own page.
const studio = process.env.STUDIO;

export default defineConfig({
  plugins: [react()],
  // Relative addresses, so that the server may mount the page under any path.
  base: "./",
  server: { proxy: studio ? { "/api": { target: studio, changeOrigin: true, headers: { Origin: studio } } } : {} },
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
