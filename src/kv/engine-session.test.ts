import { describe, expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { EngineSession, presentBoot } from './engine-session.ts'

const bootIdPath = '/proc/sys/kernel/random/boot_id'

function linux(boot: string): MemoryDisk {
  const disk = new MemoryDisk()
  boots(disk, boot)
  return disk
}

function boots(disk: MemoryDisk, boot: string): void {
  disk.writeFileAtomic(bootIdPath, Buffer.from(`${boot}\n`))
}

const session = (disk: MemoryDisk, clock = new ManualClock()): EngineSession =>
  new EngineSession({ disk, clock, path: '/state/session.json' })

describe('a file of an engine', () => {
  test('that was closed cleanly is trusted, in this boot and in any later one', () => {
    const disk = linux('boot-1')
    const first = session(disk)
    first.begin()
    first.end()
    expect(session(disk).distrust()).toBeUndefined()
    boots(disk, 'boot-2')
    expect(session(disk).distrust()).toBeUndefined()
  })

  test('is trusted after the death of the process alone', () => {
    const disk = linux('boot-1')
    session(disk).begin()
    expect(session(disk).distrust()).toBeUndefined()
  })

  test('is not trusted after the death of the machine', () => {
    const disk = linux('boot-1')
    session(disk).begin()
    boots(disk, 'boot-2')
    expect(session(disk).distrust()).toBe('the machine stopped while it was open')
  })

  test('is not trusted when nothing is known of it', () => {
    const disk = linux('boot-1')
    expect(session(disk).distrust()).toBe('nothing says how it was closed')
    disk.writeFileAtomic('/state/session.json', Buffer.from('{"form'))
    expect(session(disk).distrust()).toBe('what says how it was closed is not readable')
    disk.writeFileAtomic('/state/session.json', Buffer.from('7'))
    expect(session(disk).distrust()).toBe('what says how it was closed is not readable')
    disk.writeFileAtomic('/state/session.json', Buffer.from('{"format":1}'))
    expect(session(disk).distrust()).toBe('the machine stopped while it was open')
  })

  test('of another format is not trusted', () => {
    const disk = linux('boot-1')
    const bytes = Buffer.from('{"format":2,"clean":true,"boot":{}}')
    disk.writeFileAtomic('/state/session.json', bytes)
    expect(session(disk).distrust()).toBe('it has format 2, this is 1')
  })
})

describe('where the system does not name its boots', () => {
  test('the boot time tells them apart, give or take a few seconds', () => {
    const disk = new MemoryDisk()
    const clock = new ManualClock(1_700_000_000_000)
    expect(presentBoot(disk, clock).id).toBeUndefined()
    session(disk, clock).begin()
    clock.advance(4000)
    expect(session(disk, clock).distrust()).toBeUndefined()
    clock.advance(86_000)
    expect(session(disk, clock).distrust()).toBe('the machine stopped while it was open')
  })
})
