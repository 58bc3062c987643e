/**
 * An instance of one worker whose thread cannot be ended, see threaded-words.js. It prints what comes of
 * that, one JSON line each, and exits. Ten seconds of its main thread are one.
 *
 *     node lost-thread.js <close|wait> <module> <broker> <application> <directory> <file>
 *
 * `close`: closes the instance once that file is there.
 */
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { KafkaStreams, isStreamsError } from 'millpond'

const { systemPorts } = await import(new URL('../../dist/config.js', import.meta.url).href)
const { clock } = systemPorts
const ports = {
  ...systemPorts,
  clock: {
    ...clock,
    monotonic: () => clock.monotonic() * 10,
    setTimer: (/** @type {number} */ ms, /** @type {() => void} */ callback) =>
      clock.setTimer(ms / 10, callback),
  },
}

/** @param {unknown} error */
function tell(error) {
  const known = isStreamsError(error) ? { code: error.code, message: error.message } : String(error)
  console.log(JSON.stringify(known))
}

const [, , how, module = '', broker = '', applicationId = '', stateDir = '', file = ''] =
  process.argv
const config = {
  applicationId,
  brokers: [broker],
  stateDir,
  commitInterval: 100,
  /** @type {'silent'} */
  logger: 'silent',
  /** @type {'replace-worker'} */
  onUncaughtError: 'replace-worker',
}
const streams = new KafkaStreams(new URL(module), config, ports)
streams.closed.catch(() => undefined)
await streams.start()
console.log(JSON.stringify('running'))
if (how === 'close') {
  while (!existsSync(file)) await delay(10)
  await streams.close({ timeout: 1000 }).catch(tell)
} else await streams.closed.catch(tell)
console.log(JSON.stringify(streams.state))
const next = new KafkaStreams(new URL(module), config, ports)
next.closed.catch(() => undefined)
await next.start({ signal: AbortSignal.timeout(2000) }).catch(tell)
