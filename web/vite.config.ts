import { svelte } from '@sveltejs/vite-plugin-svelte'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// `TURNLOOM_URL` points the development server at a running daemon.
const daemon = process.env['TURNLOOM_URL'] ?? 'http://127.0.0.1:7171'

// The SDK is taken from its sources, by the names that it gives to everybody.
const sdk = fileURLToPath(new URL('../sdk/typescript/src', import.meta.url))
const alias = [
  { find: /^turnloom$/, replacement: `${sdk}/index.ts` },
  { find: /^turnloom\/worker$/, replacement: `${sdk}/worker.ts` },
]

const SHARED =
  /vite[\\/]preload-helper|node_modules[\\/](svelte|esm-env|clsx)[\\/]|sdk[\\/]typescript[\\/]src|src[\\/]lib[\\/][^\\/]+\.ts|ui[\\/]parts[\\/]Icon/

export default defineConfig({
  plugins: [svelte()],
  resolve: { alias },
  build: {
    // The built files are committed there, and embedded into the daemon.
    outDir: '../crates/turnloom/assets',
    emptyOutDir: true,
    assetsDir: 'static',
    target: 'es2023',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
    // What everything shares is one file of the first load: many small ones would compress worse.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', test: SHARED }] } } },
  },
  server: { fs: { allow: ['.', sdk] }, proxy: { '/api': daemon, '/login': daemon, '/health': daemon } },
  test: { environment: 'node', include: ['tests/**/*.test.ts'] },
})
