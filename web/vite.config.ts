import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// `TURNLOOM_URL` points the development server at a running daemon.
const daemon = process.env['TURNLOOM_URL'] ?? 'http://127.0.0.1:7171'

export default defineConfig({
  plugins: [svelte()],
  build: {
    // The built files are committed there, and embedded into the daemon.
    outDir: '../crates/turnloom/assets',
    emptyOutDir: true,
    assetsDir: 'static',
    target: 'es2023',
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
  },
  server: { proxy: { '/api': daemon, '/login': daemon, '/health': daemon } },
  test: { environment: 'node', include: ['tests/**/*.test.ts'] },
})
