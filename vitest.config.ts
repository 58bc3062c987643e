import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

/** Tests of instances that come and go: they run once more with the streams group protocol. */
export const bothProtocols = [
  'test/integration/drain.test.ts',
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

/** Tests in `test/integration` that are about our own broker, start one in another process, or need none. */
export const notEngine = [
  'test/integration/broker-*.test.ts',
  'test/integration/demo.test.ts',
  'test/integration/foreign-clients.test.ts',
  'test/integration/membership-steps.test.ts',
  'test/integration/schema-registry.test.ts',
  'test/integration/store-*.test.ts',
] as const

/** How threads die is a matter of Node's version, and is tested on the dev broker alone. */
const threads = [
  'test/integration/lost-thread.test.ts',
  'test/integration/rocksdb-threads.test.ts',
  'test/integration/worker-threads.test.ts',
]

/** What `npm run test:kafka` runs on real brokers is left out: `.ci/run` has both on one Node. */
const isBesideKafka = process.env['MILLPOND_TEST_BESIDE_KAFKA'] === '1'
const suites = isBesideKafka
  ? ['test/!(integration)/**/*.test.ts', ...notEngine, ...threads]
  : ['test/**/*.test.ts']

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
          name: 'src',
          include: ['src/**/*.test.ts'],
          // Files share a process: most of their time would go into loading the same modules anew.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'test',
          include: suites,
          // These need Java, and run by `npm run test:kafka`.
          exclude: [...configDefaults.exclude, 'test/kafka/**'],
        },
      },
      ...(isBesideKafka
        ? []
        : [
            {
              extends: true as const,
              test: {
                name: 'streams-protocol',
                include: [...bothProtocols],
                env: { MILLPOND_TEST_GROUP_PROTOCOL: 'streams' },
              },
            },
          ]),
    ],
    passWithNoTests: false,
    // Imported as a program imports it, by its whole URL: vite would leave its query away.
    server: { deps: { external: [/threaded-words\.js/] } },
    testTimeout: 20_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
  },
})
