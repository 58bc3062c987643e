import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

/** Tests of instances that come and go: they run once more with the streams group protocol. */
export const bothProtocols = [
  'test/integration/exactly-once.test.ts',
  'test/integration/standbys.test.ts',
  'test/integration/static-restart.test.ts',
  'test/integration/streams.test.ts',
  'test/integration/streams-close.test.ts',
  'test/integration/streams-load.test.ts',
  'test/integration/streams-restore.test.ts',
  'test/integration/uncaught-errors.test.ts',
  'test/integration/worker-threads.test.ts',
] as const

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
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          // These need Java, and run by `npm run test:kafka`.
          exclude: [...configDefaults.exclude, 'test/kafka/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'streams-protocol',
          include: [...bothProtocols],
          env: { MILLPOND_TEST_GROUP_PROTOCOL: 'streams' },
        },
      },
    ],
    passWithNoTests: false,
    // Imported as a program imports it, by its whole URL: vite would leave its query away.
    server: { deps: { external: [/threaded-words\.js/] } },
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
  },
})
