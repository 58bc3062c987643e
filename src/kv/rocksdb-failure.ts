/** RocksDB refuses, with the code that the package gave its error. */
export class RocksdbFailure extends Error {
  readonly code: string | undefined

  constructor(message: string, code: string | undefined) {
    super(message)
    this.name = 'RocksdbFailure'
    this.code = code
  }
}

const damageCode = 'LEVEL_CORRUPTION'

/** A file that is not what RocksDB wrote, or what this version can read. */
export function damage(message: string): RocksdbFailure {
  return new RocksdbFailure(message, damageCode)
}

/** Also of what the package throws. */
export function isDamage(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === damageCode
}
