import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^millpond$/, replacement: source('index.ts') },
      { find: /^millpond\/server$/, replacement: source('server/index.ts') },
      { find: /^millpond\/testing$/, replacement: source('testing/index.ts') },
      { find: /^millpond\/broker$/, replacement: source('broker/index.ts') },
      { find: /^millpond\/schema-registry$/, replacement: source('schema-registry/index.ts') },
      { find: /^millpond\/rocksdb$/, replacement: source('rocksdb/index.ts') },
    ],
  },
  oxc: { target: 'es2022' },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // These need Java, and run by `npm run test:kafka`.
    exclude: [...configDefaults.exclude, 'test/kafka/**'],
    passWithNoTests: false,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
  },
})
