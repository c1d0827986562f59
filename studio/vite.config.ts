import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// The studio that the page under development talks to. It refuses other hosts and origins, so requests come as from its own page.
const studio = process.env.STUDIO;

/**
 * Says of the parts of React Flow that making them has no effect: what the page does not use of them, as the map and
 * the controls, would stay in it otherwise.
 */
const pureParts: Plugin = {
  name: "pure-parts",
  transform: {
    filter: { id: /@xyflow\/react\/dist\/esm\/index\.m?js$/ },
    handler: (code) => code.replace(/^\w+\.displayName = '\w+';$/gm, "").replace(/= (memo|forwardRef|fixedForwardRef)\(/g, "= /* @__PURE__ */ $1("),
  },
};

export default defineConfig({
  plugins: [react(), pureParts],
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
