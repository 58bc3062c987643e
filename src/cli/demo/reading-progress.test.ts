import { expect, test } from 'vitest'
import { MemoryDisk } from '../../base/memory-disk.ts'
import { ReadingProgress } from './reading-progress.ts'

test('what was saved is known to the next demo', () => {
  const disk = new MemoryDisk()
  const progress = new ReadingProgress('/data/input.json', disk)
  expect(progress.bytesOf('/a.txt')).toBe(0)
  progress.note('/a.txt', 17)
  progress.save()
  progress.note('/a.txt', 30)
  const next = new ReadingProgress('/data/input.json', disk)
  expect(next.bytesOf('/a.txt')).toBe(17)
  expect(next.bytesOf('/b.txt')).toBe(0)
})

test('inputs that are read from their beginning again are forgotten', () => {
  const disk = new MemoryDisk()
  const progress = new ReadingProgress('/data/input.json', disk)
  progress.note('/a.txt', 17)
  progress.clear()
  progress.save()
  expect(new ReadingProgress('/data/input.json', disk).bytesOf('/a.txt')).toBe(0)
})

test.each([
  '',
  'no json',
  '{"version":2,"inputs":{}}',
  '{"version":1,"inputs":{"/a":"x"}}',
  '{"version":1,"inputs":{"/a":-1}}',
])('the content %j is none of ours', (content) => {
  const disk = new MemoryDisk()
  disk.writeFileAtomic('/data/input.json', Buffer.from(content))
  expect(() => new ReadingProgress('/data/input.json', disk)).toThrow('use another --data-dir')
})
